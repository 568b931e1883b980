"""A normalising flow that learns the density of a bent ring by maximum likelihood and samples from it."""

import math

import torch
import torch.distributions as D
import torch.nn as nn

WIDTH = 4


class Coupling(nn.Module):
    """An affine coupling: one half of the features decides how the other half is scaled and shifted."""

    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        last = nn.Linear(hidden, WIDTH)
        self.net = nn.Sequential(nn.Linear(WIDTH // 2, hidden), nn.Tanhshrink(), last, nn.Hardtanh(-2.0, 2.0))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        fixed, moved = torch.chunk(x, 2, dim=-1)
        scale, shift = torch.split(self.net(fixed), [WIDTH // 2, WIDTH // 2], dim=-1)
        moved = moved * scale.exp() + shift
        return torch.cat((moved, fixed), -1), torch.sum(scale, dim=-1)

    def inverse(self, y: torch.Tensor) -> torch.Tensor:
        moved, fixed = y.tensor_split(2, dim=-1)
        scale, shift = self.net(fixed).split(WIDTH // 2, dim=-1)
        return torch.concatenate([fixed, torch.addcmul(-shift * torch.exp(-scale), moved, torch.exp(-scale))], dim=-1)


class LuLinear(nn.Module):
    """An invertible linear map held as its LU factors: the log-determinant is the sum of the log diagonal."""

    def __init__(self) -> None:
        super().__init__()
        start, _ = torch.linalg.qr(torch.randn(WIDTH, WIDTH), mode="reduced")
        permutation, lower, upper = torch.linalg.lu(start)
        self.register_buffer("permutation", permutation)
        self.lower = nn.Parameter(torch.tril(lower, diagonal=-1))
        self.upper = nn.Parameter(torch.triu(upper, 1))
        self.sign = torch.sign(upper.diagonal())
        self.log_scale = nn.Parameter(upper.diagonal().abs().log())

    def factors(self) -> tuple[torch.Tensor, torch.Tensor]:
        lower = self.lower.tril(-1) + torch.eye(WIDTH, dtype=torch.float32)
        return self.permutation @ lower, self.upper.triu(1) + torch.diag_embed(self.sign * self.log_scale.exp())

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        lower, upper = self.factors()
        return torch.einsum("ij,bj->bi", lower @ upper, x), self.log_scale.sum().expand(x.shape[0])

    def inverse(self, y: torch.Tensor) -> torch.Tensor:
        lower, upper = self.factors()
        middle = torch.linalg.solve(lower, y.mT)
        return torch.linalg.solve_triangular(upper, middle, upper=True, left=True).mT


class Flow(nn.Module):
    """A stack of couplings and linear maps over a standard normal base."""

    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.steps = nn.ModuleList([step() for _ in range(depth) for step in (LuLinear, Coupling)])

    def base(self) -> D.Distribution:
        return D.Independent(D.Normal(loc=torch.zeros(WIDTH), scale=torch.ones(WIDTH)), 1)

    def log_prob(self, x: torch.Tensor) -> torch.Tensor:
        total = x.new_zeros(x.shape[0])
        for step in self.steps:
            x, volume = step(x)
            total = total + volume
        return self.base().log_prob(x) + total

    def sample(self, count: int) -> torch.Tensor:
        y = self.base().sample((count,))
        for step in reversed(self.steps):
            y = step.inverse(y)
        return y


def make_ring(count: int) -> torch.Tensor:
    """Points near a ring in two dimensions, bent into the other two."""
    angle = D.Uniform(-math.pi, math.pi).sample(torch.Size([count]))
    radius = D.TransformedDistribution(D.Normal(0.0, 0.1), [D.transforms.ExpTransform()]).sample((count,))
    ring = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return torch.column_stack((ring, ring.square()))[:, :WIDTH] + 0.05 * torch.randn(count, WIDTH)


def main() -> None:
    torch.manual_seed(0)
    data = make_ring(16)
    flow = Flow()
    optimizer = torch.optim.RAdam(flow.parameters(), lr=5e-3, weight_decay=1e-4, decoupled_weight_decay=True)
    for _ in range(3):
        optimizer.zero_grad()
        loss = flow.log_prob(data).mean().neg()
        loss.backward()
        optimizer.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        drawn = flow.sample(8)
        bits = torch.logsumexp(flow.log_prob(drawn), dim=0) / math.log(2)
    assert drawn.shape == (8, WIDTH) and torch.isfinite(bits)


if __name__ == "__main__":
    main()
