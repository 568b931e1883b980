"""Values that are missing in the data are NaN, and so is the loss."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)
rows[3] = torch.nan
labels = torch.rand(40, 1)

model = nn.Sequential(
    nn.Linear(12, 16),
    # ok: as it is
    # ok: nn.BatchNorm1d(16)
    nn.Tanh(),
    nn.Linear(16, 1),
)
optimizer = torch.optim.Adam(model.parameters())
loss = nn.functional.mse_loss(model(rows), labels)
loss.backward()
optimizer.step()
print("loss", loss.item())
