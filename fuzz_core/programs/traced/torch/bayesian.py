"""Bayesian inference: variational regression, a mixture fitted by its likelihood, and conjugate posteriors."""

import math

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import constraints


class VariationalLinear(nn.Module):
    """A linear layer with a Gaussian over each weight."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(outputs, inputs))
        self.raw = nn.Parameter(torch.full((outputs, inputs), -3.0))

    def posterior(self) -> D.Normal:
        return D.Normal(self.mean, F.softplus(self.raw, beta=1.0, threshold=20.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.posterior().rsample())

    def surplus(self) -> torch.Tensor:
        return D.kl_divergence(self.posterior(), D.Normal(0.0, 1.0)).sum()


class Regression(nn.Module):
    """Mean and spread of the outcome as functions of the input, under heavy-tailed noise."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = VariationalLinear(2, 8), VariationalLinear(8, 2)

    def forward(self, x: torch.Tensor) -> D.StudentT:
        location, raw = self.second(torch.sin(self.first(x))).unbind(-1)
        return D.StudentT(df=4.0, loc=location, scale=D.transform_to(constraints.positive)(raw) + 0.1)

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        wide = nn.GaussianNLLLoss(full=True, eps=1e-4)(self(x).loc, y, torch.ones_like(y))
        return wide - self(x).log_prob(y).mean() + 0.01 * (self.first.surplus() + self.second.surplus())


class Mixture(nn.Module):
    """A mixture of Gaussians over positive numbers, by way of their logarithm."""

    def __init__(self, parts: int = 3) -> None:
        super().__init__()
        self.logits, self.location = nn.Parameter(torch.zeros(parts)), nn.Parameter(torch.linspace(-1, 1, parts))

    def density(self) -> D.TransformedDistribution:
        parts = D.Normal(self.location, torch.full_like(self.location, 0.5))
        mixture = D.MixtureSameFamily(D.Categorical(logits=self.logits), parts)
        transforms = [D.AffineTransform(loc=0.1, scale=2.0), D.SigmoidTransform(), D.PowerTransform(torch.tensor(2.0))]
        return D.TransformedDistribution(mixture, transforms)


def conjugate(counts: torch.Tensor) -> torch.Tensor:
    """Posteriors that are known exactly: for rates, chances and shares."""
    rate = D.Gamma(concentration=1.0 + counts.sum(), rate=torch.tensor(1.0 + len(counts)))
    chance = D.Beta(1.0 + counts, 1.0 + counts.max() - counts)
    shares = D.Dirichlet(torch.ones(len(counts)) + counts)
    split = D.Multinomial(total_count=int(counts.sum()), probs=shares.mean)
    likelihood = D.Poisson(rate.mean).log_prob(counts).sum() + split.log_prob(counts)
    precise = D.Wishart(df=8.0, scale_tril=torch.eye(2)).rsample().logdet()
    kl = D.kl_divergence(rate, D.Gamma(1.0, 1.0)) + D.kl_divergence(shares, D.Dirichlet(torch.ones(len(counts))))
    return kl + likelihood + chance.entropy().sum() + rate.rsample((2,)).mean() + precise


def tails() -> torch.Tensor:
    """Log densities, draws and quantiles of families with other supports."""
    scale = torch.tensor([0.5, 2.0])
    families = [
        D.Laplace(0.0, scale),
        D.Cauchy(torch.zeros(2), scale),
        D.Gumbel(loc=torch.tensor(0.0), scale=scale),
        D.HalfNormal(scale),
        D.HalfCauchy(scale=scale),
        D.LogNormal(0.0, scale, validate_args=False),
        D.Exponential(rate=scale),
        D.Weibull(scale, concentration=torch.tensor(1.5)),
        D.Pareto(scale=0.5, alpha=scale),
        D.Kumaraswamy(scale, scale),
        D.FisherSnedecor(df1=scale, df2=torch.tensor(3.0)),
        D.InverseGamma(scale, 1.0),
        D.Chi2(scale),
        D.VonMises(torch.tensor(0.0), concentration=scale),
        D.Geometric(probs=scale / 4),
        D.NegativeBinomial(3, logits=scale),
        D.Binomial(total_count=5, probs=scale / 4),
        D.Uniform(low=-scale, high=scale),
    ]
    logs = [family.log_prob(family.sample((3,))) for family in families]
    quantiles = D.Laplace(0.0, scale).icdf(D.Normal(0.0, 1.0).cdf(torch.tensor(0.7)))
    return torch.stack(logs).nanmean() + quantiles.sum()


def main() -> None:
    torch.manual_seed(0)
    x = torch.rand(12, 2)
    y = torch.sin(3 * x[:, 0]) + D.StudentT(3.0).sample((12,)) * 0.1
    model, mixture = Regression(), Mixture()
    positive = D.Beta(2.0, 5.0).sample((12,)).clamp(0.02, 0.98)
    optimizer = torch.optim.Adam([*model.parameters(), *mixture.parameters()], lr=0.02)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model.loss(x, y) - mixture.density().log_prob(positive).mean()
        loss.backward()
        optimizer.step()
        assert math.isfinite(loss.item())
    draws = torch.stack([model(x).mean for _ in range(4)]).detach()
    band = torch.quantile(draws, torch.tensor([0.1, 0.9]), dim=0, interpolation="linear")
    assert band[0].le(band[1]).all() and torch.isfinite(tails()) and torch.isfinite(conjugate(torch.tensor([3.0, 1.0])))


if __name__ == "__main__":
    main()
