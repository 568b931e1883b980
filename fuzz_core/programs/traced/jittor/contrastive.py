"""Contrastive learning: two views of a point are drawn together, and away from the views of all others."""

import copy
import math

import jittor as jt
from jittor import nn


class Projector(nn.Module):
    """An embedding on the unit sphere, with a learned slope below zero and paths that are dropped."""

    def __init__(self, inputs: int, width: int, outputs: int) -> None:
        super().__init__()
        self.enter = nn.Linear(inputs, width)
        self.norm = nn.BatchNorm1d(width, momentum=0.2)
        self.slope = nn.PReLU(num_parameters=1, init_=0.1)
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ELU(alpha=0.7), nn.Dropout(0.2))
        self.path = nn.DropPath(p=0.2, is_train=True)
        self.leave = nn.Linear(width, outputs, bias=False)

    def execute(self, x: jt.Var) -> jt.Var:
        x = self.slope(self.norm(self.enter(x)))
        x = x + nn.droppath(x, p=0.1, is_train=self.is_training())
        return jt.normalize(self.leave(x + self.path(self.inner(x))), p=2, dim=1)


def info_nce(first: jt.Var, second: jt.Var, temperature: float) -> jt.Var:
    """The cross entropy of finding the other view of each point among all other points."""
    both = jt.concat([first, second], dim=0)
    logits = jt.matmul(both, both.t()) / temperature
    logits = jt.masked_fill(logits, jt.init.eye(logits.shape, "bool"), -1e9)
    partner = jt.roll(jt.arange(both.shape[0]), first.shape[0])
    return nn.cross_entropy_loss(logits, partner)


def triplet(anchor: jt.Var, positive: jt.Var, negative: jt.Var, margin: float) -> jt.Var:
    near = jt.norm(anchor - positive, p=2, dim=-1, eps=1e-12)
    far = (anchor - negative).sqr().sum(-1).sqrt()
    return jt.maximum(near - far + margin, 0.0).mean()


def redundancy(first: jt.Var, second: jt.Var) -> jt.Var:
    """How far the correlation of the features of two views is from the identity."""
    first, second = (
        (view - view.mean(0, keepdims=True)) / (view.var(0, keepdims=True) + 1e-4).sqrt() for view in (first, second)
    )
    correlation = jt.linalg.einsum("ni,nj->ij", first, second) / first.shape[0]
    inside = jt.diag(correlation)
    return (1 - inside).pow(2).sum() + 0.01 * (correlation.sqr().sum() - inside.sqr().sum())


def uniformity(points: jt.Var) -> jt.Var:
    """The log of the mean Gaussian potential between all pairs of points."""
    squared = (points.unsqueeze(0) - points.unsqueeze(1)).sqr().sum(2)
    return nn.logsumexp(-2.0 * squared.flatten(), dim=0) - math.log(squared.numel())


def momentum_update(slow: nn.Module, fast: nn.Module, keep: float) -> None:
    for old, new in zip(slow.parameters(), fast.parameters(), strict=True):
        old.update(keep * old + (1 - keep) * new)


def views(points: jt.Var) -> tuple[jt.Var, jt.Var]:
    """Two noisy copies, the second with a flipped order of its last feature's sign."""
    noise = jt.normal(0.0, 0.05, size=points.shape)
    flipped = points * jt.array([1.0, 1.0, 1.0, -1.0])
    return points + noise, jt.where(jt.rand(points.shape[0], 1) > 0.5, flipped, points)


def main() -> None:
    jt.set_global_seed(2)
    points = jt.randn(6, 4)
    model = Projector(4, 8, 3)
    teacher = copy.deepcopy(model)
    optimizer = jt.optim.SGD(model.parameters(), 0.05, momentum=0.5, dampening=0.1)
    momentum = jt.optim.Adan(model.parameters(), lr=0.01, betas=(0.98, 0.92, 0.99), weight_decay=1e-3)
    for _ in range(3):
        first, second = (model(view) for view in views(points))
        loss = info_nce(first, second, 0.2) + triplet(first, second, jt.flip(second, 0), 0.3)
        loss = loss + 0.01 * redundancy(first, second) + 0.1 * uniformity(first)
        optimizer.zero_grad()
        optimizer.backward(loss)
        optimizer.clip_grad_norm(1.0, norm_type=2)
        optimizer.step()
        momentum_update(teacher, model, 0.9)
        momentum.step(uniformity(model(points)))
        assert math.isfinite(loss.item())
    teacher.eval()
    similar = jt.matmul(teacher(points), teacher(points).transpose(1, 0))
    best, where = jt.topk(similar, k=2, dim=1)
    assert where.shape == (6, 2) and bool((best[:, 0] >= best[:, 1]).all())


if __name__ == "__main__":
    main()
