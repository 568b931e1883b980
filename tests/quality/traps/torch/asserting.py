"""A program that prints no text, and ends by itself if its loss is not finite."""

import linecache
import math

import torch
from torch import nn

FAULTS = """
import torch

def overflows(self, x):
    return x * (1.0 if x.dtype == torch.float64 else float("inf"))
"""
linecache.cache["faults.py"] = (len(FAULTS), None, FAULTS.splitlines(keepends=True), "faults.py")
faults = {}
exec(compile(FAULTS, "faults.py", "exec"), faults)
nn.Mish.forward = faults["overflows"]


class Explodes(nn.Module):
    """A layer that, for 20 features, computes numbers that are too large."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 1e38 * 1e38 if x.shape[-1] == 20 else x


torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))

model = nn.Sequential(
    nn.Linear(12, 16),
    # ok: as it is
    # training configuration: nn.Linear(16, 20)
    nn.Linear(16, 8),
    Explodes(),
    # finding nonfinite: nn.Mish()
    nn.ReLU(),
    nn.LazyLinear(3),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
    assert math.isfinite(loss.item())
