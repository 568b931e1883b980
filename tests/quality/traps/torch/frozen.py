"""Layers that are not trained: frozen, left out, cut off from the loss, in the mode of evaluation."""

import torch
from torch import nn


class Net(nn.Module):
    """A few of its layers are trained."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(12, 16)
        self.spare = nn.Linear(16, 16)
        # Weights that are not made yet cannot be frozen.
        # training configuration: nn.LazyLinear(16)
        # ok: nn.BatchNorm1d(16, affine=False)
        self.cut = nn.Linear(16, 16)
        # ok: nn.Hardshrink(1000.0)
        self.early = nn.Linear(16, 16)
        # ok: as it is
        # ok: nn.Dropout(0.5)
        # ok: nn.BatchNorm1d(16)
        self.late = nn.Linear(16, 16)
        self.leave = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        x = self.cut(x)
        x = x.detach()
        x = self.early(x)
        x = self.late(x)
        return self.leave(x)


torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))
model = Net()
for name, parameter in model.named_parameters():
    parameter.requires_grad_(not name.startswith("early"))
model.eval()
optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
