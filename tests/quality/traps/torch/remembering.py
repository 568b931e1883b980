"""A program that keeps what it computed: a second backward pass finds the graph gone, and memory grows."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.rand(40, 1)

model = nn.Sequential(
    nn.Linear(12, 16),
    # training configuration: as it is
    nn.Tanh(),
    nn.Linear(16, 1),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for _ in range(3):
    losses.append(nn.functional.mse_loss(model(rows), labels))
    sum(losses).backward()
    optimizer.step()
print("loss", losses[-1].item())
