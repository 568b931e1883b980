"""Recurrent networks: layers, cells that are stepped by hand and a small model of the next token."""

import math

import jittor as jt
from jittor import nn

WORDS, WIDTH = 6, 3


class Tagger(nn.Module):
    """An embedding, a recurrent layer of two directions, another of one, and a class of each token."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.both = nn.GRU(WIDTH, WIDTH, num_layers=1, bidirectional=True)
        self.down = nn.LSTM(2 * WIDTH, WIDTH, bias=True)
        self.head = nn.Linear(WIDTH, WORDS)

    def execute(self, tokens: jt.Var) -> jt.Var:
        x, _ = self.both(self.embed(tokens).transpose(1, 0, 2))
        x, (hidden, cell) = self.down(x)
        assert hidden.shape == cell.shape
        return self.head(x).permute(1, 0, 2)


class Stepped(nn.Module):
    """Three kinds of cells, one after the other at each step."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTMCell(WIDTH, WIDTH, bias=True)
        self.gru = nn.GRUCell(WIDTH, WIDTH)
        self.plain = nn.RNNCell(WIDTH, WIDTH, nonlinearity="relu")

    def execute(self, x: jt.Var) -> jt.Var:
        """From (length, batch, width) to the same."""
        state = (jt.zeros((x.shape[1], WIDTH)), jt.zeros((x.shape[1], WIDTH)))
        second = third = jt.zeros((x.shape[1], WIDTH))
        outputs = []
        for step in jt.unbind(x, dim=0):
            state = self.lstm(step, state)
            second = self.gru(state[0], second)
            third = self.plain(second, third)
            outputs.append(third)
        return jt.stack(outputs, dim=0)


def make_sentences(count: int, length: int) -> tuple[jt.Var, jt.Var]:
    """Tokens that count upwards from a random start, and the next token of each."""
    start = jt.randint(1, WORDS, shape=(count, 1))
    tokens = (start + jt.arange(length + 1).unsqueeze(0) - 1) % (WORDS - 1) + 1
    return tokens[:, :-1], tokens[:, 1:]


def next_token_loss(logits: jt.Var, wanted: jt.Var, lengths: jt.Var) -> jt.Var:
    """The mean over real tokens alone; those behind a sentence's end are ignored."""
    place = jt.arange(wanted.shape[1]).unsqueeze(0)
    kept = jt.where(place < lengths.unsqueeze(1), wanted, jt.full_like(wanted, -1))
    return nn.cross_entropy_loss(logits.reshape(-1, WORDS), kept.reshape(-1), ignore_index=-1)


def greedy(model: Tagger, prompt: jt.Var, steps: int) -> list[int]:
    """Tokens that follow a prompt (1, length), each the likeliest."""
    found = []
    with jt.no_grad():
        for _ in range(steps):
            best, _ = jt.argmax(model(prompt)[:, -1], dim=1)
            prompt = jt.concat([prompt[:, 1:], best.unsqueeze(1)], dim=1)
            found.append(best.item())
    return found


def main() -> None:
    jt.set_global_seed(11)
    tokens, wanted = make_sentences(3, 4)
    model, stepped = Tagger(), Stepped()
    plain = nn.RNN(WIDTH, WIDTH, nonlinearity="tanh", batch_first=True)
    optimizer = jt.optim.SGD([*model.parameters(), *stepped.parameters()], lr=0.1, momentum=0.9)
    schedule = jt.optim.LambdaLR(optimizer, lambda epoch: 0.9**epoch)
    criterion, sizes = jt.CTCLoss(blank=0, reduction="mean", zero_infinity=True), jt.array([2, 2, 2], dtype="int32")
    lengths = jt.array([4, 3, 2])
    for _ in range(2):
        states = stepped(model.embed(tokens).transpose(1, 0, 2))
        loss = next_token_loss(model(tokens), wanted, lengths) + 0.1 * states.sqr().mean()
        chances = nn.log_softmax(model(tokens).transpose(1, 0, 2), dim=2)
        loss = loss + 0.1 * criterion(chances, wanted[:, :2].int32(), jt.full((3,), 4, "int32"), sizes)
        optimizer.zero_grad()
        optimizer.backward(loss)
        optimizer.clip_grad_norm(0.5)
        optimizer.step()
        schedule.step()
        assert math.isfinite(loss.item())
    model.eval()
    whole = jt.ctc_loss(chances, wanted[:, :2].int32(), jt.full((3,), 4, "int32"), sizes, reduction="sum")
    assert math.isfinite(whole.item())
    _, last = plain(model.embed(tokens))
    assert last.shape == (1, 3, WIDTH) and last.abs().max().item() <= 1.0
    assert all(0 <= token < WORDS for token in greedy(model, tokens[:1], 3))
    names = [name for name, _ in model.named_parameters()]
    assert "embed.weight" in names and len(model.modules()) >= 4


if __name__ == "__main__":
    main()
