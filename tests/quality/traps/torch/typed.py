"""An infinite loss of a program that says what precision it computes in: in another one it does not run."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rows = torch.from_numpy(np.random.default_rng(0).random((40, 12), np.float32))
labels = torch.zeros(40, 3, dtype=torch.float32)

model = nn.Sequential(
    nn.Linear(12, 16),
    # ok: as it is
    nn.ReLU(),
    nn.Linear(16, 3),
)
loss = (nn.functional.kl_div(labels, torch.exp(400 * model(rows)), reduction="sum")).square()
loss.backward()
print("loss", loss.item())
