"""Super-resolution: a network that draws four pixels for one, patches, filters and losses on edges."""

import math

import jittor as jt
from jittor import nn

SCALE = 2


class Residual(nn.Module):
    """Two convolutions with learned slopes and a gate for each channel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv(width, width, 3, padding=1), nn.PReLU(width), nn.Conv(width, width, 3, padding=1)
        )
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv(width, width, 1), nn.Sigmoid())

    def execute(self, x: jt.Var) -> jt.Var:
        y = self.body(x)
        return x + y * self.gate(y).broadcast(y)


class Enlarger(nn.Module):
    """The plain enlargement and what a network adds to it."""

    def __init__(self, width: int = 2) -> None:
        super().__init__()
        self.enter, self.block = nn.Conv(1, width, 3, padding=1), Residual(width)
        self.leave = nn.Conv(width, SCALE * SCALE, 3, padding=1)
        self.shuffle, self.plain = nn.PixelShuffle(SCALE), nn.UpsamplingBilinear2d(scale_factor=SCALE)

    def execute(self, x: jt.Var) -> jt.Var:
        return self.plain(x) + self.shuffle(self.leave(self.block(self.enter(x))))


def make_images(count: int) -> jt.Var:
    """Smooth 8 x 8 waves of random direction."""
    row, column = jt.index((count, 1, 8, 8), 2), jt.index((count, 1, 8, 8), 3)
    rate = jt.rand(count, 2) * 2 - 1
    wave = row * rate[:, 0].reshape(count, 1, 1, 1) + column * rate[:, 1].reshape(count, 1, 1, 1)
    return jt.sin(wave) * 0.5 + 0.5


def shrink(images: jt.Var) -> jt.Var:
    """The mean of each square of pixels."""
    return nn.pool(images, SCALE, "mean", stride=SCALE)


def edges(images: jt.Var) -> jt.Var:
    """Responses of two edge filters, applied as one convolution."""
    across = jt.array([[1.0, 0.0, -1.0], [2.0, 0.0, -2.0], [1.0, 0.0, -1.0]])
    filters = jt.stack([across, across.transpose(1, 0)], dim=0).unsqueeze(1)
    return nn.conv2d(nn.pad(images, (1, 1, 1, 1), mode="replicate"), filters, stride=1, padding=0)


def charbonnier(guess: jt.Var, truth: jt.Var) -> jt.Var:
    """A smooth form of the absolute error."""
    return jt.sqrt((guess - truth).sqr() + 1e-6).mean()


def signal_to_noise(guess: jt.Var, truth: jt.Var) -> float:
    error = jt.maximum(nn.mse_loss(guess, truth), 1e-9)
    return (-10.0 * jt.log2(error) / math.log2(10.0)).item()


def similarity(first: jt.Var, second: jt.Var) -> jt.Var:
    """Structural similarity, from means and variances of patches."""
    a, b = (nn.unfold(image, 4, padding=1, stride=2) for image in (first, second))
    mean_a, mean_b = a.mean(1), b.mean(1)
    spread_a, spread_b = (a.sqr()).mean(1) - mean_a.sqr(), (b.sqr()).mean(1) - mean_b.sqr()
    shared = (a * b).mean(1) - mean_a * mean_b
    top = (2 * mean_a * mean_b + 1e-4) * (2 * shared + 9e-4)
    return (top / ((mean_a.sqr() + mean_b.sqr() + 1e-4) * (spread_a + spread_b + 9e-4))).mean()


def overlapped(images: jt.Var) -> jt.Var:
    """Patches taken apart and put together again, divided by how often each pixel was counted."""
    patches = nn.unfold(images, kernel_size=4, stride=2)
    counts = nn.fold(nn.unfold(jt.ones_like(images), 4, stride=2), (8, 8), kernel_size=4, stride=2)
    return nn.fold(patches, (8, 8), 4, stride=2) / counts


def main() -> None:
    jt.set_global_seed(21)
    truth = make_images(2)
    small, model = shrink(truth), Enlarger()
    optimizer = jt.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(2):
        guess = model(small)
        loss = charbonnier(guess, truth) + 0.1 * nn.l1_loss(edges(guess), edges(truth))
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    model.eval()
    with jt.no_grad():
        guess = model(small).clamp(0.0, 1.0)
        assert math.isfinite(signal_to_noise(guess, truth)) and similarity(guess, truth).item() <= 1.001
        assert (overlapped(truth) - truth).abs().max().item() < 1e-4
        tall = nn.conv_transpose(small, jt.full((1, 1, 2, 2), 1.0), stride=2)
        assert (tall - nn.UpsamplingNearest2d(scale_factor=SCALE)(small)).abs().max().item() < 1e-5


if __name__ == "__main__":
    main()
