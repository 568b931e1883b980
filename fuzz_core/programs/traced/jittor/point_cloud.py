"""Point clouds: neighbours, features that ignore the order of points, and a distance between clouds."""

import math

import jittor as jt
from jittor import nn
from jittor.loss3d import ChamferLoss, chamfer_loss

POINTS, NEAR, WIDTH = 8, 3, 4


class EdgeConv(nn.Module):
    """The largest response over a point's neighbours, each seen relative to the point."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(2 * inputs, outputs), nn.LayerNorm(outputs)

    def execute(self, x: jt.Var, near: jt.Var) -> jt.Var:
        """From features (batch, points, inputs) and neighbours (batch, points, near)."""
        batch, points, width = x.shape
        around = x.reindex([batch, points, NEAR, width], ["i0", "@e0(i0,i1,i2)", "i3"], extras=[near])
        own = x.unsqueeze(2).expand(batch, points, NEAR, width)
        pairs = jt.concat([own, around - own], dim=3)
        return jt.max(nn.relu(self.norm(self.linear(pairs))), 2)


class CloudNet(nn.Module):
    """Two rounds over neighbours, then a shift of each point."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = EdgeConv(3, WIDTH), EdgeConv(WIDTH, WIDTH)
        self.shift = nn.Linear(2 * WIDTH, 3, bias=False)

    def execute(self, cloud: jt.Var) -> jt.Var:
        _, near = jt.misc.knn(cloud, cloud, NEAR)
        x = self.first(cloud, near)
        x = self.second(x, near)
        whole = x.max(1, keepdims=True).broadcast(x)
        return cloud + jt.tanh(self.shift(jt.concat([x, whole], dim=-1))) * 0.1


def rotation(axis: jt.Var, angle: float) -> jt.Var:
    """The matrix that turns around an axis, by the formula of Rodrigues."""
    axis = jt.normalize(axis, dim=0)
    zero = jt.zeros((1,))
    x, y, z = jt.split(axis, 1, dim=0)
    generator = jt.stack([jt.concat([zero, -z, y], 0), jt.concat([z, zero, -x], 0), jt.concat([-y, x, zero], 0)], 0)
    return jt.init.eye(3) + math.sin(angle) * generator + (1 - math.cos(angle)) * jt.matmul(generator, generator)


def aligned(moving: jt.Var, fixed: jt.Var) -> jt.Var:
    """The rotation that brings one centred cloud nearest to another, point by point."""
    left, _, right = jt.linalg.svd(jt.matmul(moving.transpose(1, 0), fixed))
    turned = jt.matmul(left, right)
    flip = jt.ones((3,))
    flip[2] = jt.linalg.det(turned)
    return jt.matmul(left * flip.unsqueeze(0), right)


def farthest(cloud: jt.Var, count: int) -> jt.Var:
    """Indices of points that are far from each other, one after the other."""
    chosen, gap = [0], jt.full((cloud.shape[0],), 1e9)
    for _ in range(count - 1):
        gap = jt.minimum(gap, (cloud - cloud[chosen[-1]]).sqr().sum(1))
        chosen.append(gap.argmax(0)[0].item())
    return jt.array(chosen)


def normals(cloud: jt.Var, near: jt.Var) -> jt.Var:
    """A direction that stands upright on two edges at each point."""
    first, second = cloud[near[:, 1]] - cloud, cloud[near[:, 2]] - cloud
    return jt.cross(first, second, dim=1)


def make_cloud() -> jt.Var:
    """Points on a sphere, (1, POINTS, 3)."""
    height, turn = jt.linspace(-0.9, 0.9, POINTS), jt.arange(POINTS).float32() * 2.4
    radius = jt.sqrt(1 - height.sqr())
    return jt.stack([radius * jt.cos(turn), radius * jt.sin(turn), height], dim=1).unsqueeze(0)


def main() -> None:
    jt.set_global_seed(20)
    cloud = make_cloud()
    turned = jt.matmul(cloud[0], rotation(jt.array([1.0, 2.0, 0.5]), 0.3))
    found = aligned(cloud[0], turned)
    assert (jt.matmul(cloud[0], found) - turned).abs().max().item() < 1e-3
    model = CloudNet()
    optimizer = jt.optim.Adam(model.parameters(), lr=0.01)
    noisy = cloud + 0.1 * jt.randn(cloud.shape)
    for _ in range(2):
        loss = chamfer_loss(model(noisy), cloud, reduction="mean", dims="BNC", bidirectional=True)
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    with jt.no_grad():
        distance, near = jt.misc.knn(cloud, cloud, NEAR)
        one_way = ChamferLoss(reduction="sum", dims="BNC")(noisy, cloud)
        assert distance.min().item() <= 1e-6 and math.isfinite(one_way.item())
        assert farthest(cloud[0], 3).shape == (3,) and bool(jt.isfinite(normals(cloud[0], near[0])).all())


if __name__ == "__main__":
    main()
