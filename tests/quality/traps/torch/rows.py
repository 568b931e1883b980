"""Rows of numbers in three classes, by one sequence of layers."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))

model = nn.Sequential(
    nn.Linear(12, 16),
    # Of another rank than what arrives.
    # misfit: nn.Conv2d(16, 8, 3)
    # Of another size than what arrives.
    # misfit: nn.BatchNorm1d(7)
    # Precisions that do not go together.
    # misfit: nn.Linear(16, 8, dtype=torch.float16)
    # misfit: nn.Linear(16, 8, dtype=torch.complex64)
    # Indices are wanted, and no such device is there.
    # misfit: nn.Embedding(16, 8)
    # misfit: nn.Linear(16, 8, device="meta")
    # What it gives are two things, which the next layer does not take.
    # misfit: nn.LSTM(16, 8)
    # One dimension more or less, which the layers let pass and the loss does not.
    # training configuration: nn.Unflatten(1, (4, 4))
    # training configuration: nn.Flatten(0)
    # More memory than there is.
    # resources: nn.Linear(16, 10**12)
    # Refused when it is made: ValueError, TypeError, AssertionError, RuntimeError, KeyError.
    # refused: nn.Dropout(1.5)
    # refused: nn.Linear(16, "eight")
    # refused: nn.MultiheadAttention(16, 3)
    # refused: nn.Linear(16, -1)
    # refused: nn.TransformerEncoderLayer(16, 2, activation="none")
    # Refused when it is used: IndexError, NotImplementedError.
    # refused: nn.Softmax(5)
    # refused: nn.Upsample(scale_factor=2, mode="none")
    # Random, so that no two runs lose the same.
    # ok: nn.Dropout(0.9)
    # ok: nn.RReLU(0.0, 9.0)
    # ok: nn.AlphaDropout(0.5)
    # Nothing is left of its input, nor of its gradient.
    # ok: nn.Dropout(1.0)
    # ok: nn.Threshold(1000.0, 0.0)
    # What is not recommended any more, and warns.
    # ok: nn.Softmax()
    nn.Linear(16, 8),
    nn.Sigmoid(),
    # It writes over what its gradient needs.
    # training configuration: nn.ReLU(inplace=True)
    nn.Tanh(),
    # Infinite logarithms in single and double precision.
    # ok: nn.LogSigmoid()
    nn.BatchNorm1d(8),
    nn.Linear(8, 3),
)

criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for start in range(0, 40, 20):
    optimizer.zero_grad()
    loss = criterion(model(rows[start : start + 20]), labels[start : start + 20])
    loss.backward()
    optimizer.step()
print("loss", loss.item())
