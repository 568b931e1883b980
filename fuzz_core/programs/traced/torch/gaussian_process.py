"""Gaussian process regression with learned kernels, exact by Cholesky factors and sparse by inducing points."""

import math

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F


class Kernel(nn.Module):
    """A sum of a squared-exponential, a Matern and a periodic covariance."""

    def __init__(self) -> None:
        super().__init__()
        self.raw = nn.ParameterDict({name: torch.zeros(()) for name in ("scale", "matern", "period")})
        self.noise = nn.Parameter(torch.tensor(-2.0, dtype=torch.float64))

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        scale, width, period = (F.softplus(self.raw[name]) + 0.1 for name in ("scale", "matern", "period"))
        squared = torch.cdist(a / scale, b / scale, p=2.0, compute_mode="donot_use_mm_for_euclid_dist").square()
        distance = torch.sqrt(squared + 1e-12) * math.sqrt(3.0) / width
        wave = torch.sin(math.pi * torch.cdist(a, b, p=1.0) / period)
        return torch.exp(-0.5 * squared) + (1 + distance) * torch.exp(-distance) + torch.exp(-2 * wave**2)


def with_noise(kernel: Kernel, x: torch.Tensor) -> torch.Tensor:
    noise = F.softplus(kernel.noise) + 1e-4
    return kernel(x, x) + torch.diag(noise.expand(len(x)))


def marginal_likelihood(kernel: Kernel, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The log density of the observations, by one Cholesky factor."""
    factor = torch.linalg.cholesky(with_noise(kernel, x), upper=False)
    weights = torch.cholesky_solve(y.unsqueeze(-1), factor, upper=False).squeeze(-1)
    volume = 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum()
    return -0.5 * (torch.inner(y, weights) + volume + len(x) * math.log(2 * math.pi))


def predict(kernel: Kernel, x: torch.Tensor, y: torch.Tensor, new: torch.Tensor) -> D.MultivariateNormal:
    """The posterior at new places."""
    factor, info = torch.linalg.cholesky_ex(with_noise(kernel, x))
    assert info.item() == 0
    half = torch.linalg.solve_triangular(factor, kernel(x, new), upper=False)
    mean = half.mT @ torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    covariance = kernel(new, new) - half.T.matmul(half) + 1e-4 * torch.eye(len(new), dtype=x.dtype)
    return D.MultivariateNormal(mean.squeeze(1), covariance_matrix=covariance)


def sparse_bound(kernel: Kernel, x: torch.Tensor, y: torch.Tensor, count: int) -> torch.Tensor:
    """A bound on the likelihood through `count` inducing points; the low-rank part as a distribution of its own."""
    inducing = x[:: max(1, len(x) // count)]
    inner = kernel(inducing, inducing) + 1e-3 * torch.eye(len(inducing), dtype=x.dtype)
    values, vectors = torch.linalg.eigh(inner, UPLO="L")
    factor = kernel(x, inducing) @ vectors / values.clamp(min=1e-6).sqrt()
    noise = F.softplus(kernel.noise).expand(len(x))
    low_rank = D.LowRankMultivariateNormal(torch.zeros_like(y), cov_factor=factor, cov_diag=noise)
    missing = torch.trace(kernel(x, x)) - torch.linalg.matrix_norm(factor, ord="fro").square()
    return low_rank.log_prob(y) - 0.5 * missing / noise[0]


def checks(kernel: Kernel, x: torch.Tensor) -> None:
    """Different ways to the same determinant, inverse and square root of a covariance."""
    matrix = with_noise(kernel, x)
    sign, volume = torch.linalg.slogdet(matrix)
    assert sign == 1 and torch.allclose(volume, torch.logdet(matrix)) and torch.det(matrix) > 0
    inverse = torch.linalg.inv(matrix)
    assert torch.allclose(inverse, torch.cholesky_inverse(torch.linalg.cholesky(matrix)), atol=1e-6)
    assert torch.linalg.cond(matrix, p=2) >= 1 and torch.linalg.eigvalsh(matrix).min() > 0
    packed, pivots, _ = torch.linalg.ldl_factor_ex(matrix)
    assert torch.dist(torch.linalg.ldl_solve(packed, pivots, matrix), torch.eye(len(x), dtype=x.dtype)) < 1e-4


def main() -> None:
    torch.manual_seed(0)
    x = torch.sort(torch.rand(10, 1, dtype=torch.float64), dim=0).values.mul(4.0)
    y = torch.sinc(x.squeeze(1)) + 0.1 * torch.randn(10, dtype=torch.float64)
    kernel = Kernel().double()
    optimizer = torch.optim.LBFGS(kernel.parameters(), lr=0.1, max_iter=3, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = -marginal_likelihood(kernel, x, y) - 0.1 * sparse_bound(kernel, x, y, count=4)
        loss.backward()
        return loss

    for _ in range(2):
        assert math.isfinite(optimizer.step(closure).item())
    with torch.no_grad():
        posterior = predict(kernel, x, y, torch.linspace(0, 4, 5, dtype=torch.float64)[:, None])
        checks(kernel, x)
        draws = posterior.sample((3,))
    assert draws.shape == (3, 5) and torch.isfinite(posterior.entropy()) and posterior.variance.min() > 0


if __name__ == "__main__":
    main()
