"""Generative adversarial networks: a plain one with label smoothing and a Wasserstein critic with gradient penalty."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

NOISE = 6


def make_generator() -> nn.Sequential:
    """From a noise vector to an 8 x 8 image in (-1, 1)."""
    return nn.Sequential(
        nn.Unflatten(dim=1, unflattened_size=(NOISE, 1, 1)),
        nn.ConvTranspose2d(NOISE, 8, kernel_size=4),
        nn.InstanceNorm2d(8, affine=True, track_running_stats=False),
        nn.ReLU(),
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
        nn.Conv2d(8, 1, 3, padding="same"),
        nn.Tanh(),
    )


def make_discriminator() -> nn.Sequential:
    """From an image to one logit, with spectral normalisation on every weight."""
    normalised = nn.utils.parametrizations.spectral_norm
    return nn.Sequential(
        normalised(nn.Conv2d(1, 8, 4, 2, 1), n_power_iterations=2),
        nn.LeakyReLU(negative_slope=0.2, inplace=True),
        nn.FeatureAlphaDropout(0.1),
        nn.LPPool2d(norm_type=2, kernel_size=2),
        nn.Flatten(),
        normalised(nn.Linear(8 * 2 * 2, 1)),
    )


def make_images(count: int) -> torch.Tensor:
    """Stripes of random phase and direction, (count, 1, 8, 8)."""
    phase = torch.rand(count, 1, 1, 1) * (2 * math.pi)
    stripes = torch.cos(torch.arange(8.0).view(1, 1, 1, 8) + phase).expand(-1, -1, 8, -1)
    flipped = torch.rand(count, 1, 1, 1).gt(0.5)
    return torch.where(flipped, stripes, stripes.transpose(2, 3)).contiguous()


def gradient_penalty(critic: nn.Module, real: torch.Tensor, fake: torch.Tensor) -> torch.Tensor:
    """Pulls the critic's gradient norm to 1 between real and generated images."""
    share = torch.rand(real.shape[0], 1, 1, 1)
    between = torch.lerp(real, fake, share).requires_grad_(True)
    score = critic(between)
    (slope,) = torch.autograd.grad(score, between, grad_outputs=torch.ones_like(score), create_graph=True)
    return (slope.flatten(1).norm(p=2, dim=1) - 1.0).square().mean()


def train_discriminator(critic: nn.Module, optimizer, real: torch.Tensor, fake: torch.Tensor) -> float:
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1.5]))
    scores = critic(torch.concat((real, fake)))
    labels = torch.cat([torch.full((len(real), 1), 0.9), torch.zeros(len(fake), 1)])
    optimizer.zero_grad()
    loss = criterion(scores, labels) + 0.1 * gradient_penalty(critic, real, fake)
    loss.backward()
    optimizer.step()
    return loss.item()


def train_generator(generator: nn.Module, critic: nn.Module, optimizer, noise: torch.Tensor) -> float:
    optimizer.zero_grad()
    score = critic(generator(noise))
    saturating = F.binary_cross_entropy(score.sigmoid(), torch.ones_like(score))
    hinge = F.relu(1.0 - score).mean() + F.softplus(-score, beta=1).sum() * 0.1
    loss = saturating + hinge
    loss.backward()
    optimizer.step()
    return loss.item()


def main() -> None:
    torch.manual_seed(0)
    generator, critic = make_generator(), make_discriminator()
    down = torch.optim.RMSprop(critic.parameters(), lr=1e-3, alpha=0.9, centered=True, momentum=0.1)
    up = torch.optim.NAdam(generator.parameters(), lr=2e-3, momentum_decay=4e-3)
    for _ in range(2):
        real, noise = make_images(4), torch.randn(4, NOISE)
        with torch.no_grad():
            fake = generator(noise)
        assert math.isfinite(train_discriminator(critic, down, real, fake))
        assert math.isfinite(train_generator(generator, critic, up, noise))
    critic.eval()
    with torch.inference_mode():
        grid = generator(torch.randn(4, NOISE)).reshape(2, 2, 8, 8).permute(0, 2, 1, 3).reshape(16, 16)
    assert grid.abs().amax() <= 1.0 and torch.isfinite(grid).all()


if __name__ == "__main__":
    main()
