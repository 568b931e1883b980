"""A model that gives more than one thing, some of which are no tensors."""

import torch
from torch import nn


class Net(nn.Module):
    """Scores, features and a word."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(12, 16)
        # ok: as it is
        # ok: nn.Dropout(0.5)
        self.middle = nn.Linear(16, 16)
        self.leave = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor, *, scale: float) -> tuple[torch.Tensor, dict[str, object]]:
        x = self.enter(x)
        x = self.middle(x)
        return self.leave(x) * scale, {"features": x, "word": "one", "rows": len(x), "none": None}


torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))
model = Net()
scores, _ = model(rows, scale=0.5)
loss = nn.functional.cross_entropy(scores, labels)
loss.backward()
print("loss", loss.item())
