"""A program that writes out a function which libraries have layers for: numbers vanish in single precision."""

import torch
from torch import nn


class Likely(nn.Module):
    """A softmax as the books have it, of small numbers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.exp(x - 120)
        return x / x.sum(1, keepdim=True)


class Net(nn.Module):
    """A classifier of a few rows."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(12, 16)
        # ok: as it is
        # ok: nn.Softplus()
        # ok: nn.Softsign()
        self.act = nn.ReLU()
        self.leave = nn.Linear(16, 3)
        self.likely = nn.Sequential(Likely())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        x = self.act(x)
        return self.likely(self.leave(x))


torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.CrossEntropyLoss()(model(rows), labels)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
