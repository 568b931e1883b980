"""A model in half precision, with a loss that overflows it."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.rand(40, 12).to(torch.bfloat16)
labels = torch.randint(0, 3, (40,))

model = nn.Sequential(
    nn.Linear(12, 16),
    # ok: as it is
    # ok: nn.Softmax(1)
    nn.LayerNorm(16),
    nn.Linear(16, 3),
).to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = nn.functional.cross_entropy(model(rows), labels)
loss.backward()
optimizer.step()
print("loss", (model(rows).to(torch.float16) * 60000).square().mean().item())
