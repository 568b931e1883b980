"""A generative adversarial network on small images, with a conditional generator and an averaged copy of it."""

import math

import jittor as jt
from jittor import init, nn

NOISE, KINDS = 4, 3


def start(layer: nn.Module) -> None:
    """Starts the weights of convolutions and norms as such networks want it."""
    if isinstance(layer, (nn.Conv, nn.ConvTranspose)):
        init.gauss_(layer.weight, 0.0, 0.05)
    elif isinstance(layer, nn.BatchNorm):
        init.uniform_(layer.weight, low=0.9, high=1.1)
        init.zero_(layer.bias)


class Generator(nn.Module):
    """From noise and a kind to an image, by transposed convolutions."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.kind = nn.Embedding(KINDS, NOISE, dtype="float32")
        self.first = nn.ConvTranspose(2 * NOISE, width, 2, stride=1, bias=False)
        self.norm = nn.BatchNorm(width, affine=True, sync=False)
        self.second = nn.ConvTranspose2d(width, width, kernel_size=3, stride=2, padding=1, output_padding=1, dilation=1)
        self.last = nn.Sequential(
            nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv(width, 1, 3, padding=1), nn.Tanh()
        )

    def execute(self, noise: jt.Var, kind: jt.Var) -> jt.Var:
        x = jt.concat([noise, self.kind(kind)], dim=1)
        x = nn.relu(self.norm(self.first(x.unsqueeze(-1).unsqueeze(-1))))
        return self.last(nn.leaky_relu(self.second(x), scale=0.2))


class Discriminator(nn.Module):
    """One logit for true or made, and logits of the kind."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv(1, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv(width, width, 4, 2, 1), nn.GELU()
        )
        self.drop = nn.Dropout(0.3)
        self.real, self.kind = nn.Linear(4 * width, 1), nn.Linear(4 * width, KINDS)

    def execute(self, images: jt.Var) -> tuple[jt.Var, jt.Var]:
        x = self.drop(jt.flatten(self.body(images), start_dim=1))
        return self.real(x).squeeze(-1), self.kind(x)


def make_images(kinds: jt.Var) -> jt.Var:
    """8 x 8 stripes whose direction is the kind."""
    row, column = jt.index((8, 8), 0), jt.index((8, 8), 1)
    patterns = jt.stack([row, column, row + column], dim=0).float32()
    return jt.sin(patterns[kinds] * math.pi / 2).unsqueeze(1)


def penalty(critic: Discriminator, true: jt.Var, made: jt.Var) -> jt.Var:
    """How far the slope of the critic between true and made images is from one."""
    share = jt.rand(true.shape[0], 1, 1, 1)
    between = share * true + (1 - share) * made.detach()
    between.start_grad()
    score, _ = critic(between)
    slope = jt.grad(score.sum(), between, retain_graph=True)
    return (slope.reshape(slope.shape[0], -1).norm(2, 1) - 1.0).sqr().mean()


def average(slow: list[jt.Var], model: nn.Module) -> list[jt.Var]:
    return [(0.9 * old + 0.1 * new).stop_grad() for old, new in zip(slow, model.parameters(), strict=True)]


def main() -> None:
    jt.set_global_seed(5)
    kinds = jt.array([0, 1, 2, 0])
    images = make_images(kinds)
    generator, critic = Generator(), Discriminator()
    generator.apply(start)
    critic.apply(start)
    g_optimizer = jt.optim.Adam(generator.parameters(), 2e-3, betas=(0.5, 0.999))
    d_optimizer = jt.optim.AdamW(critic.parameters(), 2e-3, betas=(0.5, 0.9), weight_decay=0.01)
    slow = [value.clone() for value in generator.parameters()]
    for _ in range(2):
        made = generator(init.gauss((4, NOISE), "float32"), kinds)
        (true_score, kind), (made_score, _) = critic(images), critic(made.detach())
        truth = nn.binary_cross_entropy_with_logits(true_score, jt.ones_like(true_score) * 0.9)
        d_loss = truth + nn.binary_cross_entropy_with_logits(made_score, jt.zeros_like(made_score))
        d_loss = d_loss + nn.cross_entropy_loss(kind, kinds) + 0.1 * penalty(critic, images, made)
        d_optimizer.step(d_loss)
        score, kind = critic(made)
        g_loss = nn.softplus(-score, beta=1.0, threshold=15.0).mean() + nn.cross_entropy_loss(kind, kinds)
        g_optimizer.step(g_loss)
        slow = average(slow, generator)
        assert math.isfinite(d_loss.item()) and math.isfinite(g_loss.item())
    generator.eval()
    assert generator(jt.zeros((3, NOISE)), jt.array([0, 1, 2])).shape == (3, 1, 8, 8)


if __name__ == "__main__":
    main()
