"""A denoising autoencoder of small images, tied to a sparse code, with several reconstruction losses."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    """Strided convolutions down to a code of eight positive numbers."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, kernel_size=4, stride=2, padding=1),
            nn.ELU(alpha=0.5),
            nn.ReflectionPad2d((1, 0, 1, 0)),
            nn.Conv2d(4, 8, 3, (2, 2), bias=False),
            nn.LocalResponseNorm(size=2, alpha=1e-3, beta=0.5, k=1.0),
            nn.SiLU(inplace=True),
            nn.Flatten(),
            nn.Linear(8 * 9, code),
            nn.Softplus(beta=2, threshold=10),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layers(images)


class Decoder(nn.Module):
    """The way back: a transposed convolution, an upsampling and a pixel shuffle."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.expand = nn.Sequential(nn.Linear(code, 4 * 9), nn.Unflatten(1, (4, 3, 3)), nn.CELU())
        self.grow = nn.ConvTranspose2d(4, 8, 3, stride=2, padding=1, output_padding=1, groups=2, bias=True)
        self.refine = nn.Conv2d(8, 4, 3, padding=(1, 1), padding_mode="circular")

    def forward(self, code: torch.Tensor) -> torch.Tensor:
        x = F.mish(self.grow(self.expand(code)))
        return torch.sigmoid(F.pixel_shuffle(self.refine(x), upscale_factor=2))


def make_images(count: int) -> torch.Tensor:
    """Soft discs at random places, (count, 1, 12, 12), values from 0 to 1."""
    axis = torch.linspace(-1, 1, 12)
    rows, columns = torch.meshgrid(axis, axis, indexing="ij")
    centres = torch.rand(count, 2, 1, 1) - 0.5
    distance = torch.hypot(rows - centres[:, 0], columns - centres[:, 1])
    return torch.exp(-4.0 * distance.pow(2)).unsqueeze_(1)


def corrupt(images: torch.Tensor) -> torch.Tensor:
    """Adds noise and drops a tenth of the pixels."""
    noisy = torch.normal(mean=images, std=0.1)
    return torch.where(torch.bernoulli(torch.full_like(images, 0.9)).bool(), noisy, torch.zeros(()))


def reconstruction_loss(output: torch.Tensor, images: torch.Tensor, code: torch.Tensor) -> torch.Tensor:
    """Pixel losses of three kinds, an edge loss and a penalty that keeps the code sparse."""
    pixel = F.mse_loss(output, images) + 0.5 * F.l1_loss(output, images, reduction="none").mean((1, 2, 3)).sum()
    robust = F.huber_loss(output, images, reduction="mean", delta=0.3)
    edges = F.smooth_l1_loss(torch.diff(output, dim=-1), torch.diff(images, n=1, dim=-1))
    return pixel + robust + edges + 1e-3 * torch.linalg.vector_norm(code, ord=1, dim=1).mean()


def main() -> None:
    torch.manual_seed(0)
    images = make_images(6)
    encoder, decoder = Encoder(8), Decoder(8)
    for module in (*encoder.modules(), *decoder.modules()):
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=nn.init.calculate_gain("leaky_relu", 0.2))
            nn.init.constant_(module.bias, 0.01)
    optimizer = torch.optim.Adamax([*encoder.parameters(), *decoder.parameters()], lr=5e-3, betas=(0.9, 0.95))
    for _ in range(3):
        code = encoder(corrupt(images))
        loss = reconstruction_loss(decoder(code), images, code)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        restored = decoder(encoder(images))
    error = torch.mean(torch.abs(restored - images), dim=(2, 3), keepdim=True)
    assert torch.allclose(restored, restored.clamp(0, 1)) and torch.all(torch.isfinite(error))


if __name__ == "__main__":
    main()
