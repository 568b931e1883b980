"""Small images: two branches that are joined, and a classifier."""

import torch
from torch import nn


class Net(nn.Module):
    """A model of two branches whose results must have shapes that can be joined."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Conv2d(1, 4, 3, padding=1)
        # A kernel, or a border, that is larger than the image.
        # misfit: nn.Conv2d(4, 4, 11)
        # misfit: nn.ReflectionPad2d(9)
        # Channels that cannot be shared out.
        # misfit: nn.PixelShuffle(3)
        # Activations that grow beyond all memory.
        # resources: nn.Upsample(scale_factor=100000)
        # resources: nn.ZeroPad2d(10**6)
        # The layer is deprecated, or draws new numbers each time.
        # ok: nn.UpsamplingNearest2d(scale_factor=2)
        # ok: nn.FractionalMaxPool2d(2, output_ratio=0.5)
        # ok: nn.Dropout2d(0.5)
        self.stem = nn.Conv2d(4, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        # Branches that do not fit each other.
        # misfit: nn.Conv2d(4, 4, 3)
        # misfit: nn.MaxPool2d(2)
        self.left = nn.Conv2d(4, 4, 3, padding=1)
        self.right = nn.Conv2d(4, 4, 1)
        self.pool = nn.AvgPool2d(2)
        self.leave = nn.Linear(128, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        x = self.stem(x)
        x = self.norm(x)
        x = torch.cat([self.left(x), self.right(x)], 1)
        x = self.pool(x)
        return self.leave(x.flatten(1))


torch.manual_seed(0)
images = torch.rand(8, 1, 8, 8)
labels = torch.randint(0, 3, (8,))
model = Net()
optimizer = torch.optim.Adam(model.parameters())
loss = nn.functional.cross_entropy(model(images), labels)
loss.backward()
optimizer.step()
model.eval()
print("loss", nn.functional.cross_entropy(model(images), labels).item())
