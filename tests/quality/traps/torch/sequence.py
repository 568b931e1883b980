"""Images with an average over all positions: the output layer takes images of four channels and any size."""

import torch
from torch import nn

torch.manual_seed(0)
images = torch.rand(8, 1, 8, 8)

model = nn.Sequential(
    nn.Conv2d(1, 4, 3),
    # The layer is valid by itself, but not for the next layer: rows instead of images, two results instead of one.
    # misfit: nn.Flatten()
    # misfit: nn.MaxPool2d(2, return_indices=True)
    # misfit: nn.Unfold(2)
    # misfit: nn.FractionalMaxPool2d(2, output_size=2, return_indices=True)
    nn.AvgPool2d(2),
    nn.BatchNorm2d(4),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(images).square().mean()
loss.backward()
optimizer.step()
print("loss", loss.item())
