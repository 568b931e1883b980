"""A denoising diffusion model of small images, conditioned on a label, with two samplers."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

STEPS, CLASSES = 10, 3


class ResidualBlock(nn.Module):
    """Two convolutions, scaled and shifted by the time embedding, around a spatial self-attention."""

    def __init__(self, channels: int, time: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, channels, eps=1e-6)
        self.first = nn.Conv2d(channels, channels, 3, padding=1, padding_mode="circular")
        self.second = nn.Conv2d(channels, channels, 3, padding="same")
        self.modulate = nn.Linear(time, 2 * channels)
        nn.init.zeros_(self.second.weight)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        scale, shift = self.modulate(F.silu(time))[..., None, None].chunk(2, dim=1)
        hidden = torch.addcmul(shift, self.first(F.silu(self.norm(x))), 1 + scale)
        tokens = hidden.flatten(2).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(tokens, tokens, tokens, scale=0.5)
        return x + self.second(F.silu(mixed.transpose(1, 2).unflatten(2, x.shape[-2:])))


class Denoiser(nn.Module):
    """Predicts the noise from a noisy image, its step and its label."""

    def __init__(self, channels: int = 4, time: int = 8) -> None:
        super().__init__()
        self.enter, self.leave = nn.Conv2d(1, channels, 1), nn.Conv2d(channels, 1, kernel_size=(1, 1))
        self.label = nn.Embedding(CLASSES + 1, time)
        self.block = ResidualBlock(channels, time)

    def forward(self, x: torch.Tensor, step: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        time = embed_steps(step, self.label.embedding_dim) + self.label(label)
        return self.leave(self.block(self.enter(x), time))


def embed_steps(step: torch.Tensor, width: int) -> torch.Tensor:
    rates = torch.logspace(0, -2, steps=width // 2, base=10.0)
    angles = torch.ger(step.to(torch.get_default_dtype()), rates)
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)


def cosine_schedule() -> tuple[torch.Tensor, torch.Tensor]:
    """The noise added by each step, and the share of signal left after it."""
    left = torch.cos(torch.linspace(0, 1, STEPS + 1).add(0.008).mul(math.pi / 2 / 1.008)).square()
    added = torch.clip(1 - left[1:] / left[:-1], max=0.999)
    return added, torch.cumprod(1 - added, dim=0)


def make_images(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of bars whose direction is the label."""
    label = torch.arange(count) % CLASSES
    axis = torch.sin(torch.arange(8.0))
    bars = torch.stack([axis.expand(8, 8), axis.expand(8, 8).T, torch.atleast_2d(axis).T * axis])
    return bars[label].unsqueeze(1).clone(), label


def add_noise(images: torch.Tensor, noise: torch.Tensor, left: torch.Tensor) -> torch.Tensor:
    return left.sqrt()[:, None, None, None] * images + torch.sqrt(1 - left).view(-1, 1, 1, 1) * noise


@torch.no_grad()
def sample(model: Denoiser, label: torch.Tensor, stride: int, churn: float) -> torch.Tensor:
    """Walks back from noise in steps of `stride`; `churn` 0 is deterministic, 1 is the ancestral sampler."""
    added, left = cosine_schedule()
    x = torch.randn(len(label), 1, 8, 8, generator=torch.Generator().manual_seed(5))
    for step in range(STEPS - 1, -1, -stride):
        index = torch.full_like(label, step)
        plain, guided = model(x, index, torch.full_like(label, CLASSES)), model(x, index, label)
        noise = torch.lerp(plain, guided, 1.5)
        clean = ((x - (1 - left[step]).sqrt() * noise) / left[step].sqrt()).clamp_(-1, 1)
        later = left[step - stride] if step >= stride else torch.ones(())
        spread = churn * torch.sqrt((1 - later) * added[step] / (1 - left[step]))
        x = later.sqrt() * clean + (1 - later - spread**2).clamp(min=0).sqrt() * noise + spread * torch.randn_like(x)
    return x


def main() -> None:
    torch.manual_seed(0)
    images, label = make_images(6)
    _, left = cosine_schedule()
    model = Denoiser()
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, capturable=False)
    for _ in range(3):
        step = torch.randint(high=STEPS, size=(6,))
        noise = torch.randn_like(images)
        hidden = torch.where(torch.rand(6) < 0.2, CLASSES, label)
        error = F.mse_loss(model(add_noise(images, noise, left[step]), step, hidden), noise, reduction="none")
        loss = (error.mean(dim=[1, 2, 3]) * torch.clamp(left[step] / (1 - left[step]), max=5.0)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(model)
        assert math.isfinite(loss.item())
    for stride, churn in ((1, 1.0), (3, 0.0)):
        assert torch.isfinite(sample(average.module, label[:2], stride, churn)).all()


if __name__ == "__main__":
    main()
