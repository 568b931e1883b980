"""The slope of a root is infinite at 0: the loss is finite, and its gradients are not."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)

model = nn.Sequential(
    nn.Linear(12, 16),
    # ok: as it is
    # ok: nn.Threshold(9.0, 0.0)
    nn.ReLU(),
    nn.Linear(16, 3),
)
loss = torch.sqrt(torch.relu(model(rows))).mean()
loss.backward()
print("loss", loss.item())
