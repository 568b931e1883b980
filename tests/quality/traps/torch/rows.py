"""Rows of numbers in three classes, by one sequence of layers."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))

model = nn.Sequential(
    nn.Linear(12, 16),
    # The layer takes another rank than arrives.
    # misfit: nn.Conv2d(16, 8, 3)
    # The layer takes another size than arrives.
    # misfit: nn.BatchNorm1d(7)
    # The precisions do not fit each other.
    # misfit: nn.Linear(16, 8, dtype=torch.float16)
    # misfit: nn.Linear(16, 8, dtype=torch.complex64)
    # The layer takes indices, or lies on a device without memory.
    # misfit: nn.Embedding(16, 8)
    # misfit: nn.Linear(16, 8, device="meta")
    # The layer returns two values, which the next layer does not take.
    # misfit: nn.LSTM(16, 8)
    # The result has one dimension more or less: the layers accept it and the loss does not.
    # training configuration: nn.Unflatten(1, (4, 4))
    # training configuration: nn.Flatten(0)
    # More memory than there is.
    # resources: nn.Linear(16, 10**12)
    # The library refuses the layer when it is made: ValueError, TypeError, AssertionError, RuntimeError, KeyError.
    # refused: nn.Dropout(1.5)
    # refused: nn.Linear(16, "eight")
    # refused: nn.MultiheadAttention(16, 3)
    # refused: nn.Linear(16, -1)
    # refused: nn.TransformerEncoderLayer(16, 2, activation="none")
    # The library refuses the layer when it is used: IndexError, NotImplementedError.
    # refused: nn.Softmax(5)
    # refused: nn.Upsample(scale_factor=2, mode="none")
    # Random: two runs drop different elements.
    # ok: nn.Dropout(0.9)
    # ok: nn.RReLU(0.0, 9.0)
    # ok: nn.AlphaDropout(0.5)
    # The layer drops its whole input, and its gradient is zero.
    # ok: nn.Dropout(1.0)
    # ok: nn.Threshold(1000.0, 0.0)
    # The layer is deprecated and warns.
    # ok: nn.Softmax()
    nn.Linear(16, 8),
    nn.Sigmoid(),
    # The layer overwrites values that its gradient needs.
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
