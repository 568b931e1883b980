"""A denoising diffusion model of points on a ring: a schedule, a network that knows the time, and sampling."""

import math

import jittor as jt
from jittor import init, nn

STEPS, WIDTH = 6, 8


class TimeBlock(nn.Module):
    """A residual block whose scale and shift come from the time."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, WIDTH, eps=1e-4)
        self.time, self.mix = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, WIDTH)
        init.zero_(self.mix.weight)
        init.one_(self.norm.weight)

    def execute(self, x: jt.Var, time: jt.Var) -> jt.Var:
        scale, shift = jt.chunk(self.time(time), chunks=2, dim=1)
        y = self.norm(x.unsqueeze(-1).unsqueeze(-1)).squeeze(-1).squeeze(-1)
        return x + self.mix(nn.silu(y * (scale + 1) + shift))


class Denoiser(nn.Module):
    """Guesses the noise in a point."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.time = nn.Linear(2, WIDTH), nn.Embedding(STEPS, WIDTH)
        self.blocks, self.leave = nn.ModuleList(TimeBlock(), TimeBlock()), nn.Linear(WIDTH, 2)

    def execute(self, x: jt.Var, step: jt.Var) -> jt.Var:
        time = waves(step) + self.time(step)
        x = self.enter(x)
        for block in self.blocks:
            x = block(x, time)
        return self.leave(x)


def waves(step: jt.Var) -> jt.Var:
    """Sines and cosines of a step at several rates, (count, WIDTH)."""
    rate = jt.pow(jt.full((WIDTH // 2,), 10.0), -jt.linspace(0, 1, WIDTH // 2))
    angle = step.float32().unsqueeze(1) * rate.unsqueeze(0)
    return jt.concat([jt.sin(angle), jt.cos(angle)], dim=1)


class Schedule:
    """How much of the signal is left after each step, from a cosine."""

    def __init__(self) -> None:
        time = jt.linspace(0.0, 1.0, STEPS + 1)
        share = jt.sqr(jt.cos((time + 0.01) / 1.01 * math.pi / 2))
        self.beta = jt.clamp(1 - share[1:] / share[:-1], 1e-4, 0.95)
        self.left = jt.cumprod(1 - self.beta, dim=0)

    def noisy(self, x: jt.Var, step: jt.Var, noise: jt.Var) -> jt.Var:
        left = self.left[step].unsqueeze(1)
        return left.sqrt() * x + jt.sqrt(1 - left) * noise

    def weight(self, step: jt.Var) -> jt.Var:
        """Weights of the loss: the signal-to-noise ratio, up to a limit."""
        ratio = self.left / jt.subtract(1.0, self.left)
        return jt.minimum(ratio, 5.0)[step] / (ratio[step] + 1e-3)


def sample(model: Denoiser, schedule: Schedule, count: int) -> jt.Var:
    """Points from noise, one step after the other."""
    x = jt.randn(count, 2)
    with jt.no_grad():
        for index in reversed(range(STEPS)):
            guess = model(x, jt.full((count,), index, "int32"))
            beta, left = schedule.beta[index], schedule.left[index]
            x = (x - beta / jt.sqrt(1 - left) * guess) / jt.sqrt(1 - beta)
            if index:
                x = x + beta.sqrt() * jt.randn_like(x)
    return x


def make_ring(count: int) -> jt.Var:
    angle = init.uniform((count,), low=-math.pi, high=math.pi)
    points = jt.stack([jt.cos(angle), jt.sin(angle)], dim=1)
    back = jt.arctan2(points[:, 1], points[:, 0])
    assert (back - angle).abs().max().item() < 1e-3
    return points


def main() -> None:
    jt.set_global_seed(15)
    points, schedule, model = make_ring(6), Schedule(), Denoiser()
    optimizer = jt.optim.Adam(model.parameters(), lr=1e-2)
    optimizer.add_param_group({"params": [init.constant((1,), "float32", 0.5)], "lr": 1e-3})
    gain = optimizer.param_groups[1]["params"][0]
    for _ in range(2):
        step = jt.randint(0, STEPS, (6,))
        noise = jt.randn_like(points)
        error = (model(schedule.noisy(points, step, noise), step) * (gain + 0.5) - noise).sqr().mean(1)
        loss = (schedule.weight(step) * error).mean()
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    model.eval()
    drawn = sample(model, schedule, 4)
    assert drawn.shape == (4, 2) and bool(jt.isfinite(drawn).all())
    assert bool((schedule.left[1:] <= schedule.left[:-1]).all())


if __name__ == "__main__":
    main()
