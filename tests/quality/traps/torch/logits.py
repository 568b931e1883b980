"""A loss that wants probabilities gets logits."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.rand(40, 1).round()

model = nn.Sequential(
    nn.Linear(12, 16),
    # training configuration: as it is
    nn.Tanh(),
    nn.Linear(16, 1),
)
loss = nn.BCELoss()(9 * model(rows), labels)
loss.backward()
print("loss", loss.item())
