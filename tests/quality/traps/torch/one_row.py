"""The last batch has one row: statistics of a batch cannot be had of it."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(33, 12)
labels = torch.randint(0, 3, (33,))

model = nn.Sequential(
    nn.Linear(12, 8),
    # misfit: nn.BatchNorm1d(8)
    # ok: nn.LayerNorm(8)
    nn.ReLU(),
    nn.Linear(8, 3),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for start in range(0, 33, 16):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows[start : start + 16]), labels[start : start + 16])
    loss.backward()
    optimizer.step()
print("loss", loss.item())
