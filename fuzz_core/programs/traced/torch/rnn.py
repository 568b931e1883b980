"""Recurrent networks over sequences of different lengths: which symbol occurs most often, and what comes next."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import rnn as sequences

SYMBOLS = 6
PADDING = 0


class Tagger(nn.Module):
    """Embedding, a bidirectional LSTM over packed sequences, a GRU above it, and a classifier on the last state."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, width, padding_idx=PADDING, max_norm=2.0)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)
        self.gru = nn.GRU(input_size=2 * width, hidden_size=width, bias=False)
        self.head = nn.Linear(width, SYMBOLS)

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = sequences.pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        states, _ = self.lstm(packed)
        padded, _ = sequences.pad_packed_sequence(states, batch_first=False, padding_value=0.0)
        _, last = self.gru(padded, torch.zeros(1, tokens.shape[0], self.gru.hidden_size))
        return F.log_softmax(self.head(last.squeeze(0)), dim=-1)


class Forecaster(nn.Module):
    """Cells unrolled by hand, step by step: an Elman cell, an LSTM cell and a GRU cell."""

    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.elman = nn.RNNCell(1, width, nonlinearity="relu")
        self.lstm = nn.LSTMCell(width, width, bias=True)
        self.gru = nn.GRUCell(width, width)
        self.head = nn.Linear(width, 1)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        size = (series.size(1), self.gru.hidden_size)
        first, hidden, cell, top = (torch.zeros(size) for _ in range(4))
        outputs = []
        for value in series.unsqueeze(-1):
            first = self.elman(value, first)
            hidden, cell = self.lstm(first, (hidden, cell))
            top = self.gru(hidden, top)
            outputs.append(self.head(top))
        return torch.stack(outputs, dim=0).squeeze(-1)


def make_sequences(count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Padded tokens (batch, time), their lengths, and for each the symbol that occurs most often."""
    lengths = torch.randint(2, 9, (count,))
    rows = [torch.randint(1, SYMBOLS, (length,)) for length in lengths.tolist()]
    labels = torch.tensor([torch.bincount(row, minlength=SYMBOLS).argmax().item() for row in rows])
    return sequences.pad_sequence(rows, batch_first=True, padding_value=PADDING), lengths, labels


def train(model: nn.Module, inputs: tuple[torch.Tensor, ...], criterion, target: torch.Tensor) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.99), eps=1e-7)
    for _ in range(3):
        optimizer.zero_grad()
        loss = criterion(model(*inputs), target)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0, norm_type=2.0)
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        assert math.isfinite(loss.item()) and torch.isfinite(norm)


def main() -> None:
    torch.manual_seed(0)
    tokens, lengths, labels = make_sequences(6)
    tagger = Tagger()
    train(tagger, (tokens, lengths), nn.NLLLoss(reduction="sum", ignore_index=PADDING), labels)
    wave = torch.sin(torch.linspace(0, 6.0, steps=12).unsqueeze(1) + torch.arange(3).float())
    forecaster = Forecaster()
    train(forecaster, (wave[:-1],), nn.SmoothL1Loss(beta=0.5), wave[1:])
    tagger.eval()
    with torch.inference_mode():
        best = torch.topk(tagger(tokens, lengths), k=2, dim=1, largest=True, sorted=True)
        error = F.l1_loss(forecaster(wave[:-1]), wave[1:], reduction="mean")
    assert best.indices.shape == (6, 2) and torch.isfinite(error)


if __name__ == "__main__":
    main()
