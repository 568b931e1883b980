"""A model without trained layers has no gradients."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))

model = nn.Sequential(
    nn.Linear(12, 16),
    # training configuration: as it is
    nn.Linear(16, 8),
    nn.Linear(8, 3),
)
model.requires_grad_(False)
loss = nn.CrossEntropyLoss()(model(rows), labels)
loss.backward()
print("loss", loss.item())
