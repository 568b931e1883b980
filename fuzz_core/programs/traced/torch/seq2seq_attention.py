"""Translation of digit strings with a recurrent encoder, additive attention, teacher forcing and beam search."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import rnn as sequences

VOCABULARY, PADDING, BEGIN, END = 9, 0, 1, 2


class AdditiveAttention(nn.Module):
    """Scores every encoder state against the decoder state and mixes the states."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, width, bias=False), nn.Linear(width, width)
        self.energy = nn.utils.parametrizations.weight_norm(nn.Linear(width, 1), name="weight", dim=0)

    def forward(self, state: torch.Tensor, memory: torch.Tensor, ignored: torch.Tensor) -> torch.Tensor:
        scores = self.energy(torch.tanh(self.query(state).unsqueeze(1) + self.key(memory))).squeeze(-1)
        weights = scores.masked_fill(ignored, torch.finfo(scores.dtype).min).softmax(dim=-1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1)


class Translator(nn.Module):
    """A bidirectional GRU encoder; a GRU cell decoder with attention and multi-head attention over its past."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width, padding_idx=PADDING, scale_grad_by_freq=True)
        self.encoder = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.attention = AdditiveAttention(width)
        self.past = nn.MultiheadAttention(width, num_heads=2, dropout=0.0, bias=False, batch_first=True)
        self.cell = nn.GRUCell(2 * width, width)
        self.head = nn.Sequential(nn.Linear(3 * width, width), nn.GELU(), nn.Linear(width, VOCABULARY))

    def encode(self, source: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        lengths = source.ne(PADDING).sum(dim=1)
        packed = sequences.pack_padded_sequence(self.embedding(source), lengths.cpu(), True, enforce_sorted=False)
        states, last = self.encoder(packed)
        memory, _ = sequences.pad_packed_sequence(states, batch_first=True, total_length=source.size(1))
        return memory, last.transpose(0, 1).flatten(1), source.eq(PADDING)

    def step(self, token: torch.Tensor, state: torch.Tensor, memory: torch.Tensor, ignored: torch.Tensor):
        context = self.attention(state, memory, ignored)
        state = self.cell(torch.cat([self.embedding(token), context], dim=-1), state)
        own, _ = self.past(state[:, None], memory, memory, key_padding_mask=ignored, need_weights=False)
        return F.log_softmax(self.head(torch.cat([state, context, own.squeeze(1)], -1)), dim=-1), state

    def forward(self, source: torch.Tensor, target: torch.Tensor, forcing: float = 0.8) -> torch.Tensor:
        memory, state, ignored = self.encode(source)
        token, outputs = torch.full((len(source),), BEGIN), []
        for wanted in target.unbind(dim=1):
            chances, state = self.step(token, state, memory, ignored)
            outputs.append(chances)
            forced = torch.rand(len(source)).lt(forcing)
            token = torch.where(forced, wanted, chances.argmax(dim=-1))
        return torch.stack(outputs, dim=2)


def beam_search(model: Translator, source: torch.Tensor, beams: int = 3, length: int = 5) -> torch.Tensor:
    """The likeliest translation of one string, by keeping the `beams` best prefixes."""
    memory, state, ignored = (part.repeat_interleave(beams, dim=0) for part in model.encode(source))
    prefixes = torch.full((beams, 1), BEGIN)
    total = torch.tensor([0.0] + [-math.inf] * (beams - 1))
    for _ in range(length):
        chances, state = model.step(prefixes[:, -1], state, memory, ignored)
        total, flat = torch.topk((total.unsqueeze(1) + chances).flatten(), beams)
        parent, token = torch.div(flat, VOCABULARY, rounding_mode="floor"), flat.remainder(VOCABULARY)
        prefixes = torch.hstack([prefixes.index_select(0, parent), token.unsqueeze(1)])
        state = state[parent]
    return prefixes[total.argmax()]


def make_pairs(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Digit strings of different lengths, and the same strings sorted, with an end mark."""
    rows = [torch.randint(3, VOCABULARY, (int(n),)) for n in torch.randint(2, 6, (count,))]
    targets = [torch.cat([torch.sort(row, descending=False).values, torch.tensor([END])]) for row in rows]
    return sequences.pad_sequence(rows, batch_first=True), sequences.pad_sequence(targets, True, PADDING)


def main() -> None:
    torch.manual_seed(0)
    source, target = make_pairs(5)
    model = Translator()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    warm = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    steady = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
    scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, steady], milestones=[2])
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.nll_loss(model(source, target), target, ignore_index=PADDING)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, norm_type=math.inf, error_if_nonfinite=True)
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        translated = beam_search(model.eval(), source[:1])
    assert translated.tolist()[0] == BEGIN and translated.lt(VOCABULARY).all()


if __name__ == "__main__":
    main()
