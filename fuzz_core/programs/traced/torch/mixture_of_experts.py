"""A mixture of experts: a noisy router sends every token to its two best experts, within a capacity."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH, EXPERTS, CHOSEN = 8, 4, 2


class Router(nn.Module):
    """Chooses the experts of each token and keeps the book on how even the load is."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.noise = nn.Parameter(torch.zeros(WIDTH, EXPERTS))

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        logits = self.gate(tokens)
        if self.training:
            logits = torch.addcmul(logits, torch.randn_like(logits), F.softplus(tokens @ self.noise), value=0.5)
        weights, chosen = logits.topk(CHOSEN, dim=-1, largest=True, sorted=False)
        return F.softmax(weights, dim=-1), chosen, balance_loss(logits, chosen)


class GroupedExperts(nn.Module):
    """All experts as one batched matrix product over slots of a fixed capacity."""

    def __init__(self, hidden: int = 12) -> None:
        super().__init__()
        self.rise = nn.Parameter(torch.empty(EXPERTS, WIDTH, hidden))
        self.fall = nn.Parameter(torch.empty(EXPERTS, hidden, WIDTH))
        for weight in (self.rise, self.fall):
            nn.init.trunc_normal_(weight, mean=0.0, std=0.2, a=-0.4, b=0.4)

    def forward(self, slots: torch.Tensor) -> torch.Tensor:
        hidden = F.silu(torch.bmm(slots, self.rise))
        return torch.baddbmm(torch.zeros(EXPERTS, 1, WIDTH), hidden, self.fall, beta=0.0, alpha=1.0)


class MixtureOfExperts(nn.Module):
    """Dispatches tokens into slots, runs the experts and puts the weighted results back in place."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity
        self.router, self.experts = Router(), GroupedExperts()
        self.shared = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Softsign())

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, chosen, balance = self.router(tokens)
        onehot = F.one_hot(chosen.flatten(), num_classes=EXPERTS)
        rank = torch.cumsum(onehot, dim=0).mul(onehot).sum(dim=-1) - 1
        kept = torch.lt(rank, self.capacity)
        place = chosen.flatten().mul(self.capacity).add(rank)[kept]
        token = torch.arange(len(tokens)).repeat_interleave(CHOSEN)[kept]
        slots = torch.zeros(EXPERTS * self.capacity, WIDTH).index_copy(0, place, tokens[token])
        results = self.experts(slots.view(EXPERTS, self.capacity, WIDTH)).flatten(end_dim=1)
        scaled = results.index_select(0, place) * weights.reshape(-1, 1)[kept]
        return self.shared(tokens).index_add(0, token, scaled), balance


class SoftMixture(nn.Module):
    """Two experts that are never both right, chosen by a straight-through Gumbel sample."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleDict({"wide": nn.Linear(WIDTH, WIDTH), "narrow": nn.Linear(WIDTH, WIDTH, bias=False)})
        self.gate = nn.Linear(WIDTH, len(self.experts))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        choice = F.gumbel_softmax(self.gate(tokens), tau=0.7, hard=True, dim=-1)
        outputs = torch.stack([expert(tokens) for expert in self.experts.values()], dim=1)
        return torch.einsum("te,tew->tw", choice, outputs)


def balance_loss(logits: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """The share of tokens times the mean chance per expert, plus the squared log-partition."""
    share = torch.zeros(EXPERTS).scatter_add(0, chosen.view(-1), torch.ones(chosen.numel())) / chosen.numel()
    chance = torch.softmax(logits, dim=-1).mean(dim=0)
    return EXPERTS * torch.dot(share, chance) + 1e-3 * torch.logsumexp(logits, dim=-1, keepdim=True).pow(2).mean()


def main() -> None:
    torch.manual_seed(0)
    tokens = torch.randn(10, WIDTH)
    target = torch.where(tokens[:, :1] > 0, tokens.flip(-1), tokens.roll(1, dims=-1))
    model, soft = MixtureOfExperts(capacity=6), SoftMixture()
    optimizer = torch.optim.AdamW([*model.parameters(), *soft.parameters()], lr=0.01, betas=(0.9, 0.98))
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.02, total_steps=4, pct_start=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        output, balance = model(tokens)
        loss = F.mse_loss(output, target) + 0.1 * balance + F.l1_loss(soft(tokens), target, reduction="mean")
        loss.backward()
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        _, chosen, _ = model.eval().router(tokens)
        load = torch.histc(chosen.float(), bins=EXPERTS, min=0, max=EXPERTS - 1)
    assert load.sum().item() == 10 * CHOSEN and torch.var(load, correction=0) >= 0


if __name__ == "__main__":
    main()
