"""Gaussian process regression with a learned kernel, exact by Cholesky factors and sparse by inducing points."""

import math

import jittor as jt
from jittor import linalg, nn


class Kernel(nn.Module):
    """A sum of a squared-exponential and a periodic covariance."""

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.period = jt.zeros((1,), "float64"), jt.zeros((1,), "float64")
        self.noise = jt.full((1,), -2.0, "float64")

    def execute(self, a: jt.Var, b: jt.Var) -> jt.Var:
        scale, period = nn.softplus(self.scale) + 0.3, nn.softplus(self.period) + 0.5
        gap = a - b.transpose(1, 0)
        wave = jt.sin(gap.abs() * math.pi / period)
        return jt.exp(-0.5 * (gap / scale).sqr()) + 0.5 * jt.exp(-2.0 * wave.sqr())

    def with_noise(self, x: jt.Var) -> jt.Var:
        noise = nn.softplus(self.noise) + 1e-3
        return self(x, x) + jt.init.eye((x.shape[0], x.shape[0]), "float64") * noise


def marginal_likelihood(kernel: Kernel, x: jt.Var, y: jt.Var) -> jt.Var:
    """The log density of the observations, by one Cholesky factor."""
    factor = linalg.cholesky(kernel.with_noise(x))
    weights = linalg.solve(factor, y)
    volume = 2 * jt.log(jt.diag(factor)).sum()
    return -0.5 * (weights.sqr().sum() + volume + x.shape[0] * math.log(2 * math.pi))


def predict(kernel: Kernel, x: jt.Var, y: jt.Var, new: jt.Var) -> tuple[jt.Var, jt.Var]:
    """Mean and variance of the posterior at new places."""
    cross = kernel(x, new)
    weights = linalg.solve(kernel.with_noise(x), cross)
    mean = jt.matmul(weights.transpose(1, 0), y).squeeze(1)
    return mean, 1.5 - (weights * cross).sum(0)


def low_rank(kernel: Kernel, x: jt.Var, count: int) -> jt.Var:
    """What a few inducing points leave unexplained of the covariance."""
    inducing = x[:count]
    values, vectors = linalg.eigh(kernel.with_noise(inducing))
    factor = jt.matmul(kernel(x, inducing), vectors) / jt.sqrt(jt.maximum(values, 1e-6))
    return jt.diag(kernel(x, x)) - factor.sqr().sum(1)


def checks(matrix: jt.Var) -> None:
    """Different ways to the same determinant, inverse and square root of a covariance."""
    sign, volume = linalg.slogdet(matrix)
    assert sign.item() == 1 and abs(jt.log(linalg.det(matrix)).item() - volume.item()) < 1e-4
    identity = jt.init.eye(matrix.shape, "float64")
    for inverse in (linalg.inv(matrix), linalg.pinv(matrix), linalg.solve(matrix, identity)):
        assert (jt.matmul(inverse, matrix) - identity).abs().max().item() < 1e-4
    left, values, right = linalg.svd(matrix)
    assert (linalg.einsum("ik,k,kj->ij", left, values, right) - matrix).abs().max().item() < 1e-4
    orthogonal, upper = linalg.qr(matrix)
    assert (jt.matmul(orthogonal, upper) - matrix).abs().max().item() < 1e-4
    assert jt.tril(upper, -1).abs().max().item() < 1e-6


def main() -> None:
    jt.set_global_seed(18)
    x, _ = jt.argsort(jt.rand(6, 1), dim=0)
    x = jt.linspace(0.0, 4.0, 6).float64().unsqueeze(1) + 0.1 * x.float64() / 6
    y = jt.sin(x) + 0.1 * jt.randn(6, 1).float64()
    kernel = Kernel()
    optimizer = jt.optim.Adam(kernel.parameters(), lr=0.05)
    for _ in range(2):
        loss = -marginal_likelihood(kernel, x, y) + 0.1 * low_rank(kernel, x, 3).mean()
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    with jt.no_grad():
        mean, variance = predict(kernel, x, y, jt.linspace(0.0, 4.0, 5).float64().unsqueeze(1))
        checks(kernel.with_noise(x))
    assert mean.shape == (5,) and variance.min().item() > -1e-3


if __name__ == "__main__":
    main()
