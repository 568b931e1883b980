"""Super-resolution: images of half the size are grown back by sub-pixel convolution, patches and resampling."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SubPixel(nn.Module):
    """Convolutions at low resolution and one pixel shuffle, added to a bicubic enlargement."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.ZeroPad2d(2), nn.Conv2d(3, width, 5), nn.PReLU(width))
        self.middle = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(width, width, (3, 3)), nn.Hardshrink(0.01))
        self.leave = nn.Sequential(nn.Conv2d(width, 12, 3, padding=1), nn.PixelShuffle(upscale_factor=2))

    def forward(self, small: torch.Tensor) -> torch.Tensor:
        x = self.enter(small)
        coarse = F.interpolate(small, scale_factor=2, mode="bicubic", align_corners=False, antialias=False)
        return coarse + self.leave(x + self.middle(x))


class PatchAttention(nn.Module):
    """Each patch is rebuilt from patches that look like it (unfold, attend, fold)."""

    def __init__(self, channels: int = 3, size: int = 4) -> None:
        super().__init__()
        self.unfold = nn.Unfold(kernel_size=size, stride=2, padding=1)
        self.fold = nn.Fold(output_size=(8, 8), kernel_size=(size, size), stride=(2, 2), padding=(1, 1))
        self.project = nn.Linear(channels * size * size, 8, bias=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        patches = self.unfold(images).transpose(1, 2)
        keys = F.normalize(self.project(patches), dim=-1)
        weights = torch.softmax(torch.baddbmm(torch.zeros(1, 1, 1), keys, keys.mT, beta=0, alpha=8.0), dim=-1)
        cover = self.fold(self.unfold(torch.ones_like(images)))
        return self.fold((weights @ patches).transpose(1, 2)) / cover


def make_images(count: int) -> torch.Tensor:
    """Smooth colour gradients with one sharp edge, (count, 3, 16, 16)."""
    slopes = torch.rand(count, 3, 2, 1, 1)
    y, x = torch.meshgrid(torch.linspace(-1, 1, 16), torch.linspace(-1, 1, 16), indexing="ij")
    edge = torch.heaviside(x - 0.3 * y, values=torch.tensor(0.5))
    return torch.sigmoid(slopes[:, :, 0] * y + slopes[:, :, 1] * x + edge)


def shrink(images: torch.Tensor) -> torch.Tensor:
    """Blurs with a Gaussian window and keeps every second pixel."""
    line = torch.signal.windows.gaussian(5, std=1.0, sym=True)
    kernel = torch.outer(line, line).div(line.sum().square()).expand(3, 1, 5, 5)
    blurred = F.conv2d(F.pad(images, (2, 2, 2, 2), mode="reflect"), kernel, bias=None, stride=2, groups=3)
    return torch.clamp(blurred, 0.0, 1.0)


def jitter(images: torch.Tensor, angle: float) -> torch.Tensor:
    """Turns the images by an angle, resampled with zeros outside."""
    turn = torch.tensor([[math.cos(angle), -math.sin(angle), 0.0], [math.sin(angle), math.cos(angle), 0.0]])
    grid = F.affine_grid(turn.expand(len(images), 2, 3), images.size(), align_corners=True)
    return F.grid_sample(images, grid, mode="bicubic", padding_mode="zeros", align_corners=True)


def perceptual(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Differences in several resolutions and between the Gram matrices of shifted copies."""
    levels = [F.avg_pool2d(a - b, kernel_size=size, stride=size).abs().mean() for size in (1, 2, 4)]
    grams = [torch.einsum("nchw,ndhw->ncd", part, part).div(256.0) for part in (a, b)]
    spectra = [torch.fft.rfft2(part, norm="ortho").abs() for part in (a, b)]
    return torch.stack(levels).sum() + F.mse_loss(*grams) + 0.1 * F.l1_loss(*spectra)


def enlargements(small: torch.Tensor) -> dict[str, torch.Tensor]:
    """Plain resampling by each mode there is, to 16 x 16."""
    plain = {mode: F.interpolate(small, size=(16, 16), mode=mode) for mode in ("nearest", "nearest-exact", "area")}
    smooth = {mode: F.interpolate(small, (16, 16), None, mode, align_corners=True) for mode in ("bilinear", "bicubic")}
    return plain | smooth | {"shuffled": nn.Upsample(size=16)(F.pixel_shuffle(F.pixel_unshuffle(small, 2), 2))}


def main() -> None:
    torch.manual_seed(0)
    images = make_images(4)
    small = shrink(images)
    grow, patches = SubPixel(), PatchAttention()
    optimizer = torch.optim.Adamax([*grow.parameters(), *patches.parameters()], lr=5e-3, eps=1e-7)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=1)
    for step in range(3):
        optimizer.zero_grad()
        output = grow(small + 0.1 * patches(small))
        loss = perceptual(output, images) + perceptual(jitter(output, 0.1 * step), jitter(images, 0.1 * step))
        loss.backward()
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        errors = {name: F.mse_loss(plain, images) for name, plain in enlargements(small).items()}
        errors["network"] = F.mse_loss(grow(small), images)
    decibels = -10 * torch.log10(torch.stack(list(errors.values())))
    assert torch.isfinite(decibels).all() and len(errors) == 7


if __name__ == "__main__":
    main()
