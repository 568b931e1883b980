"""A sparse mixture of experts: a noisy gate sends each token to two experts and balances the load."""

import math

import jittor as jt
from jittor import init, nn

EXPERTS, CHOSEN, WIDTH = 4, 2, 4


class Experts(nn.Module):
    """All experts' weights in one parameter each, applied by batched products."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.enter = init.xavier_uniform((EXPERTS, WIDTH, hidden), gain=1.0)
        self.bias = jt.zeros((EXPERTS, 1, hidden))
        self.leave = init.relu_invariant_gauss((EXPERTS, hidden, WIDTH), mode="fan_out")

    def execute(self, tokens: jt.Var) -> jt.Var:
        """From (experts, slots, width) to the same."""
        hidden = jt.baddbmm(self.bias.broadcast((EXPERTS, tokens.shape[1], self.bias.shape[2])), tokens, self.enter)
        return nn.bmm(nn.gelu(hidden), self.leave)


class Mixture(nn.Module):
    """The gate, its noise and the experts."""

    def __init__(self, hidden: int = 6) -> None:
        super().__init__()
        self.gate, self.noise = nn.Linear(WIDTH, EXPERTS, bias=False), nn.Linear(WIDTH, EXPERTS)
        self.experts = Experts(hidden)

    def execute(self, tokens: jt.Var) -> tuple[jt.Var, jt.Var]:
        logits = self.gate(tokens)
        if self.is_training():
            logits = logits + jt.randn(logits.shape) * nn.softplus(self.noise(tokens))
        top, expert = jt.topk(logits, CHOSEN, dim=1)
        weights = nn.softmax(top, dim=1)
        everywhere = jt.zeros(logits.shape).scatter(1, expert, weights)
        outputs = self.experts(tokens.unsqueeze(0).repeat(EXPERTS, 1, 1))
        return (everywhere.transpose().unsqueeze(-1) * outputs).sum(0), balance(nn.softmax(logits, dim=-1), expert)


def balance(chances: jt.Var, expert: jt.Var) -> jt.Var:
    """How unevenly the tokens are spread: the experts' shares times their mean chances."""
    share = nn.one_hot(expert.reshape(-1), EXPERTS).float32().mean(0)
    return EXPERTS * (share.stop_grad() * chances.mean(0)).sum()


def dispatch(tokens: jt.Var, expert: jt.Var, capacity: int) -> tuple[jt.Var, jt.Var]:
    """Sorts tokens by expert and counts the places taken, as a distributed implementation would."""
    order, sorted_experts = jt.argsort(expert, dim=0)
    before = jt.searchsorted(sorted_experts.float32().unsqueeze(0), jt.arange(EXPERTS).float32().unsqueeze(0))[0]
    place = jt.arange(expert.shape[0]) - before[sorted_experts]
    fits = place < capacity
    slots = jt.zeros((EXPERTS, capacity, WIDTH))
    slots[sorted_experts[fits], place[fits]] = tokens[order[fits]]
    return slots, fits


def main() -> None:
    jt.set_global_seed(7)
    tokens = jt.randn(8, WIDTH)
    target = jt.concat([tokens[:, 2:] * 2.0, -tokens[:, :2]], dim=1)
    model = Mixture()
    optimizer = nn.AdamW(model.parameters(), lr=0.02, eps=1e-6, betas=(0.9, 0.98), weight_decay=0.1)
    scheduler = jt.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 2], gamma=0.5)
    for _ in range(3):
        output, uneven = model(tokens)
        loss = nn.MSELoss()(output, target) + 0.01 * uneven
        optimizer.step(loss)
        scheduler.step()
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        assert bool(jt.isfinite(model(tokens)[0]).all())
        best, _ = model.gate(tokens).argmax(1)
        slots, fits = dispatch(tokens, best, capacity=3)
        assert slots.shape == (EXPERTS, 3, WIDTH) and fits.sum().item() >= 3
    chances = nn.softmax(model.gate(tokens), 1)
    drawn = jt.multinomial(chances, num_samples=2)
    assert drawn.shape == (8, 2) and drawn.min().item() >= 0 and drawn.max().item() < EXPERTS


if __name__ == "__main__":
    main()
