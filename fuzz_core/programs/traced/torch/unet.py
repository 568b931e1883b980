"""A U-net that segments blobs: skips between a shrinking and a growing half, with unpooling by remembered indices."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES, IGNORED = 3, 255


class Stage(nn.Module):
    """Two convolutions with a channel-wise gate (squeeze and excitation)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, (3, 1), padding=(1, 0), padding_mode="replicate")
        self.second = nn.Conv2d(outputs, outputs, kernel_size=(1, 3), padding=(0, 1))
        self.norm = nn.InstanceNorm2d(outputs, eps=1e-4, affine=True, track_running_stats=True)
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d((1, 1)), nn.Conv2d(outputs, outputs, 1), nn.Hardsigmoid())
        self.act = nn.PReLU(num_parameters=outputs, init=0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.act(self.norm(self.second(self.first(x))))
        return x * self.gate(x)


class Unet(nn.Module):
    """Three resolutions; one way down remembers where its maxima were."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.down = nn.ModuleList([Stage(1, width), Stage(width, 2 * width)])
        self.bottom = nn.Sequential(Stage(2 * width, 2 * width), nn.Dropout(p=0.2), nn.ChannelShuffle(2))
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(kernel_size=2, stride=2)
        self.up = nn.ModuleList([Stage(4 * width, width), Stage(2 * width, width)])
        self.head = nn.Conv2d(width, CLASSES, kernel_size=1, bias=True)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        top = self.down[0](images)
        middle, places = self.pool(top)
        middle = self.down[1](middle)
        x = self.bottom(F.max_pool2d(middle, kernel_size=2))
        x = F.interpolate(x, size=middle.shape[2:], mode="nearest")
        x = self.unpool(self.up[0](torch.cat([middle, x], dim=1)), places, output_size=top.shape)
        return self.head(self.up[1](torch.cat((top, x), dim=1)))


def make_blobs(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of two discs, and per pixel the class 0, 1 or 2, or IGNORED on the frame."""
    y, x = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    centres = torch.randint(3, 9, (count, 2, 2, 1, 1)).float()
    inside = torch.stack([(y - c[:, 0]).square() + (x - c[:, 1]).square() < 6 for c in centres.unbind(1)])
    labels = torch.where(inside[1], 2, inside[0].long())
    images = labels.unsqueeze(1) * 0.5 + torch.empty(count, 1, 12, 12).normal_(0, 0.1)
    frame = F.pad(torch.zeros(10, 10, dtype=torch.bool), (1, 1, 1, 1), "constant", True)
    return images, labels.masked_fill(frame, IGNORED)


def dice_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """One minus twice the overlap over the sum, averaged over the classes."""
    known = labels.ne(IGNORED).unsqueeze(1)
    wanted = F.one_hot(labels.clamp(max=CLASSES - 1), CLASSES).permute(0, 3, 1, 2) * known
    chances = F.softmax(logits, dim=1) * known
    overlap = torch.sum(chances * wanted, dim=(0, 2, 3))
    return 1.0 - (2 * overlap / (chances.sum((0, 2, 3)) + wanted.sum([0, 2, 3])).clamp(min=1e-3)).mean()


def confusion(labels: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
    """The confusion matrix, by counting pairs in one flat histogram."""
    known = labels != IGNORED
    pairs = labels[known] * CLASSES + found[known]
    return torch.bincount(pairs, minlength=CLASSES**2).reshape(CLASSES, -1)


def main() -> None:
    torch.manual_seed(0)
    images, labels = make_blobs(4)
    model = Unet()
    groups = [{"params": model.down.parameters(), "lr": 1e-3}, {"params": model.up.parameters()}]
    optimizer = torch.optim.AdamW(groups, lr=5e-3, eps=1e-6)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=5, power=0.9)
    criterion = nn.CrossEntropyLoss(ignore_index=IGNORED, reduction="mean")
    for _ in range(3):
        optimizer.zero_grad()
        logits = model(images.contiguous(memory_format=torch.channels_last))
        loss = criterion(logits, labels) + dice_loss(logits, labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        matrix = confusion(labels, model.eval()(images).max(dim=1).indices)
    accuracy = torch.trace(matrix).true_divide(matrix.sum())
    assert matrix.sum() == 400 and 0 <= accuracy <= 1


if __name__ == "__main__":
    main()
