"""An empty batch behind the last row: its mean loss is 0 by 0, and its size cannot be inferred."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(32, 12)
labels = torch.randint(0, 3, (32,))

model = nn.Sequential(
    nn.Linear(12, 8),
    # ok: as it is
    # misfit: nn.MaxPool1d(2)
    nn.ReLU(),
    nn.Linear(8, 3),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for start in range(0, 48, 16):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows[start : start + 16]), labels[start : start + 16])
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
