"""Labels from -1; a loss of classes defines classes from 0."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(-1, 2, (40,))

model = nn.Sequential(
    nn.Linear(12, 16),
    # training configuration: as it is
    nn.ReLU(),
    nn.Linear(16, 3),
)
loss = nn.CrossEntropyLoss()(model(rows), labels)
loss.backward()
print("loss", loss.item())
