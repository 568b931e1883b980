"""Half precision that the program asks for, for a part of what it computes, and in single precision around that."""

import torch
from torch import nn


class Net(nn.Module):
    """A model whose precision depends on the number of its features."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(12, 16)
        # ok: as it is
        # ok: nn.Linear(16, 9)
        # ok: nn.Linear(16, 10)
        # ok: nn.Linear(16, 11)
        self.wide = nn.Linear(16, 8)
        self.leave = nn.LazyLinear(3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        x = self.wide(x)
        match x.shape[1]:
            case 9:
                x = x.half().sin().float()
            case 10:
                x = x.bfloat16().cumsum(1).to(torch.float32)
            case 11:
                x = (300 * x.double()).exp().log().float()
        with torch.autocast("cpu", torch.bfloat16):
            x = self.leave(x)
        return x.float()


torch.manual_seed(0)
rows = torch.rand(40, 12)
labels = torch.randint(0, 3, (40,))
model = Net()
model(rows)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
print("loss", loss.item())
