"""A normalising flow on the plane: a coupling layer, a triangular mixing layer and a planar layer."""

import math

import jittor as jt
from jittor import distributions, init, linalg, nn


class Coupling(nn.Module):
    """Half of the coordinates scales and shifts the other half."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def execute(self, x: jt.Var) -> tuple[jt.Var, jt.Var]:
        kept, moved = jt.chunk(x, 2, dim=1)
        scale, shift = self.net(kept).chunk(2, dim=1)
        scale = nn.hardtanh(scale, min_val=-2, max_val=2)
        return jt.concat([moved * scale.exp() + shift, kept], dim=1), scale.squeeze(1)

    def inverse(self, y: jt.Var) -> jt.Var:
        moved, kept = y[:, :1], y[:, 1:]
        scale, shift = jt.split(self.net(kept), 1, dim=1)
        return jt.concat([kept, (moved - shift) * jt.exp(-nn.hardtanh(scale, -2, 2))], dim=1)


class Mixing(nn.Module):
    """An invertible matrix as the product of a rotation, which is fixed, and a triangle."""

    def __init__(self) -> None:
        super().__init__()
        rotation, triangle = linalg.qr(init.gauss((2, 2)))
        self.rotation = rotation.stop_grad()
        self.upper = jt.triu(triangle, diagonal=1)
        self.size = jt.log(jt.abs(jt.diag(triangle)) + 0.1)

    def matrix(self) -> jt.Var:
        return jt.matmul(self.rotation, self.upper.triu(1) + jt.diag(self.size.exp()))

    def execute(self, x: jt.Var) -> tuple[jt.Var, jt.Var]:
        return nn.matmul_transpose(x, self.matrix()), self.size.sum().broadcast([x.shape[0]])

    def inverse(self, y: jt.Var) -> jt.Var:
        return linalg.solve(self.matrix(), y.transpose()).transpose()


class Planar(nn.Module):
    """Adds a ridge; its volume change has a closed form."""

    def __init__(self) -> None:
        super().__init__()
        self.direction, self.normal = init.gauss([2], std=0.1), init.uniform([2], low=-0.5, high=0.5)

    def execute(self, x: jt.Var) -> tuple[jt.Var, jt.Var]:
        ridge = jt.tanh((x * self.normal).sum(1, keepdims=True))
        slope = (1 - ridge.sqr()) * self.normal
        return x + ridge * self.direction, jt.log(jt.abs(1 + (slope * self.direction).sum(1)))


class Flow(nn.Module):
    """The layers one after the other, and the log density that they give."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Coupling(6), Mixing(), Planar()])
        self.base = distributions.Normal(jt.zeros(2), jt.ones(2))

    def log_density(self, x: jt.Var) -> jt.Var:
        volume = jt.zeros(x.shape[0])
        for layer in self.layers:
            x, change = layer(x)
            volume = volume + change
        return self.base.log_prob(x).sum(1) + volume


def make_moons(count: int) -> jt.Var:
    """Two noisy arcs."""
    angle = jt.linspace(0.0, math.pi, count)
    arc = jt.stack([jt.cos(angle), jt.sin(angle)], dim=1)
    side = (jt.arange(count) % 2).float32().unsqueeze(1)
    return arc * (1 - 2 * side) + jt.concat([side, side * 0.5], dim=1) + jt.randn(count, 2) * 0.05


def main() -> None:
    jt.set_global_seed(8)
    points, flow = make_moons(8), Flow()
    optimizer = jt.optim.Adan(flow.parameters(), lr=0.01, betas=(0.98, 0.92, 0.99), weight_decay=1e-3)
    for _ in range(3):
        loss = -flow.log_density(points).mean()
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    coupling, mixing = flow.layers[0], flow.layers[1]
    assert (coupling.inverse(coupling(points)[0]) - points).abs().max().item() < 1e-4
    assert (mixing.inverse(mixing(points)[0]) - points).abs().max().item() < 1e-3
    sign, volume = linalg.slogdet(mixing.matrix())
    assert abs(volume.item() - mixing.size.sum().item()) < 1e-3 and abs(sign.item()) == 1
    product = jt.matmul(linalg.inv(mixing.matrix()), mixing.matrix())
    assert (product - init.eye((2, 2))).abs().max().item() < 1e-3
    drawn = flow.base.sample((5, 2))
    assert bool(jt.isfinite(flow.base.entropy()).all()) and drawn.shape == (5, 2)


if __name__ == "__main__":
    main()
