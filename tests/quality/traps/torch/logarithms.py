"""The program takes logarithms of what may be 0, or is 0 in single precision alone."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)

model = nn.Sequential(
    nn.Linear(12, 16),
    # ok: as it is
    # ok: nn.Softplus(0.1)
    nn.ReLU(),
    nn.Linear(16, 3),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
likely = torch.softmax(60 * model(rows), 1)
loss = -torch.log(likely).mean()
loss.backward()
optimizer.step()
print("loss", loss.item())
