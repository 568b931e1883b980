"""A learning rate with which weights explode: single precision overflows where double does not yet."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.rand(40, 1)

model = nn.Sequential(
    nn.Linear(12, 16),
    # ok: as it is
    # ok: nn.ReLU()
    nn.Linear(16, 16),
    nn.Linear(16, 1),
)
optimizer = torch.optim.SGD(model.parameters(), lr=1e9)
for _ in range(4):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(rows), labels)
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
