"""A convolutional network that tells which quadrant of a small image holds the bright square."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = 4


class SeparableConv(nn.Module):
    """A depthwise convolution with dilation, followed by a pointwise one."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(inputs, inputs, (3, 3), 1, padding=2, dilation=2, groups=inputs)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.norm = nn.GroupNorm(num_groups=2, num_channels=outputs, affine=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardswish(self.norm(self.pointwise(self.depthwise(x))), inplace=True)


class Cnn(nn.Module):
    """A stem, a separable stage, two kinds of pooling side by side and a linear classifier."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, channels, kernel_size=3, padding="same", padding_mode="reflect", bias=False)
        self.norm = nn.BatchNorm2d(channels, eps=1e-3, momentum=0.05)
        self.separable = SeparableConv(channels, 2 * channels)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True)
        self.smooth = nn.AvgPool2d((2, 2), count_include_pad=False)
        self.drop = nn.Dropout2d(p=0.1)
        self.head = nn.Sequential(nn.Flatten(start_dim=1), nn.LazyLinear(16), nn.ReLU6(), nn.Linear(16, CLASSES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(F.relu(self.norm(self.stem(x))))
        x = self.drop(self.smooth(self.separable(x)))
        coarse = F.adaptive_max_pool2d(x, output_size=(2, None))
        return self.head(torch.cat([coarse, F.adaptive_avg_pool2d(x, (2, x.size(3)))], dim=1))


def make_images(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Noisy 12 x 12 images and the quadrant, 0 to 3, that holds a bright square."""
    labels = torch.randint(0, CLASSES, size=(count,), dtype=torch.int64)
    images = torch.randn(count, 1, 12, 12).mul_(0.1)
    for image, label in zip(images.unbind(0), labels.tolist(), strict=True):
        row, column = divmod(label, 2)
        image[0, 6 * row + 1 : 6 * row + 5, 6 * column + 1 : 6 * column + 5] += 1.0
    return images, labels


def augment(images: torch.Tensor) -> torch.Tensor:
    """Shifts by one pixel, erases one row and changes the contrast: none of it moves the square to another quadrant."""
    shifted = torch.roll(images, shifts=(1, -1), dims=(2, 3))
    padded = F.pad(shifted[..., 1:-1, 1:-1], (1, 1, 1, 1), mode="replicate")
    contrast = torch.empty(images.size(0), 1, 1, 1).uniform_(0.8, 1.2)
    return torch.clamp(padded * contrast, min=-1.0, max=2.0).index_fill(2, torch.tensor([0]), 0.0)


def main() -> None:
    torch.manual_seed(0)
    images, labels = make_images(8)
    model = Cnn()
    model(images)
    criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 0.5, 2.0, 1.0]), label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4, nesterov=True)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(augment(images)), labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    model.eval()
    with torch.no_grad():
        accuracy = model(images).argmax(dim=1).eq(labels).float().mean()
    assert 0.0 <= accuracy.item() <= 1.0


if __name__ == "__main__":
    main()
