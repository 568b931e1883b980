"""Models that are not the same function twice, or that no compiler can follow."""

import random
import time

import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    """A model whose behaviour depends on the number of its features."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(12, 16)
        # ok: nn.Linear(16, 20)
        # ok: nn.Linear(16, 21)
        # ok: nn.Linear(16, 22)
        # ok: nn.Linear(16, 23)
        # ok: nn.Linear(16, 24)
        # ok: nn.Linear(16, 25)
        # ok: nn.Linear(16, 26)
        # ok: nn.Linear(16, 27)
        self.wide = nn.Linear(16, 8)
        self.leave = nn.Linear(8, 3)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        x = self.wide(x)
        x = x * self.factor(x.shape[1], float(x.detach().sum()))
        return self.leave(x)

    def factor(self, width: int, total: float) -> float:
        """Returns the number that the features are multiplied with."""
        self.calls += 1
        match width:
            # The factor changes every third time.
            case 20:
                return 1.0 + self.calls // 3
            # The factor is drawn outside of the library, or taken from the clock.
            case 21:
                return random.random()
            case 22:
                return float(np.random.rand())
            case 23:
                return time.perf_counter() % 1.0
            # The factor depends on the data, on a text, or on an exception that is caught.
            case 24:
                return 2.0 if total > 0 else 3.0
            case 25:
                return float(f"{total:.3f}")
            case 26:
                try:
                    return 1 / (self.calls % 2)
                except ZeroDivisionError:
                    return 0.5
            # The input of the model is changed by the call.
            case 27:
                rows.data.add_(1.0)
        return 1.0


torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
