"""Variational autoencoders: a Gaussian code, a discrete code, and a vector-quantised code with its codebook."""

import math

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F

PIXELS, CODE, WORDS = 16, 4, 5


class GaussianVae(nn.Module):
    """A diagonal Gaussian posterior, reparameterised, and Bernoulli pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(PIXELS, 12), nn.Mish(), nn.Linear(12, 2 * CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 12, bias=True), nn.Softshrink(lambd=0.1), nn.Linear(12, PIXELS))

    def posterior(self, x: torch.Tensor) -> D.Normal:
        mean, raw = self.encoder(x).hsplit(2)
        return D.Normal(mean, torch.exp(0.5 * raw.clamp(-5, 5)), validate_args=True)

    def loss(self, x: torch.Tensor) -> torch.Tensor:
        posterior = self.posterior(x)
        pixels = D.Bernoulli(logits=self.decoder(posterior.rsample()))
        prior = D.Normal(torch.zeros(CODE), torch.ones(CODE))
        return (D.kl_divergence(posterior, prior).sum(-1) - pixels.log_prob(x).sum(-1)).mean()


class DiscreteVae(nn.Module):
    """A relaxed one-hot posterior and continuous Bernoulli pixels; the relaxation cools down."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(PIXELS, WORDS), nn.Linear(WORDS, PIXELS)

    def loss(self, x: torch.Tensor, temperature: float) -> torch.Tensor:
        logits = self.encoder(x)
        word = D.RelaxedOneHotCategorical(torch.tensor(temperature), logits=logits).rsample()
        pixels = D.ContinuousBernoulli(logits=self.decoder(word))
        uniform = D.Categorical(probs=torch.full([WORDS], 1 / WORDS))
        surplus = D.kl_divergence(D.Categorical(logits=logits), uniform)
        return surplus.mean() - D.Independent(pixels, reinterpreted_batch_ndims=1).log_prob(x).mean()


class QuantisedVae(nn.Module):
    """The code is the nearest word of a codebook, which follows the codes by moving averages."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(PIXELS, CODE), nn.Linear(CODE, PIXELS)
        self.register_buffer("book", torch.randn(WORDS, CODE), persistent=True)
        self.register_buffer("usage", torch.ones(WORDS))

    def loss(self, x: torch.Tensor) -> torch.Tensor:
        code = self.encoder(x)
        word = torch.cdist(code, self.book).argmin(dim=-1)
        nearest = F.embedding(word, self.book)
        with torch.no_grad():
            self.usage.mul_(0.9).index_add_(0, word, torch.ones(len(word)), alpha=0.1)
            drift = torch.zeros_like(self.book).index_reduce_(0, word, code - nearest, "mean", include_self=False)
            self.book.add_(drift, alpha=0.1)
        through = code + (nearest - code).detach()
        return F.binary_cross_entropy_with_logits(self.decoder(through), x) + 0.25 * F.mse_loss(code, nearest.detach())

    def perplexity(self) -> torch.Tensor:
        share = self.usage / self.usage.sum()
        return torch.exp(torch.special.entr(share).sum())


def make_patterns(count: int) -> torch.Tensor:
    """Binary rows with one run of ones each."""
    start = torch.randint(0, 10, (count, 1))
    axis = torch.arange(PIXELS).unsqueeze(0)
    return torch.logical_and(torch.ge(axis, start), axis < start + 5).float()


def importance_bound(model: GaussianVae, x: torch.Tensor, draws: int) -> torch.Tensor:
    """A tighter bound on the log-likelihood, by several weighted draws."""
    posterior = model.posterior(x)
    code = posterior.sample(torch.Size((draws,)))
    prior = D.MultivariateNormal(torch.zeros(CODE), scale_tril=torch.eye(CODE))
    likelihood = -F.binary_cross_entropy_with_logits(model.decoder(code), x.expand(draws, -1, -1), reduction="none")
    weights = likelihood.sum(-1) + prior.log_prob(code) - posterior.log_prob(code).sum(-1)
    return torch.logsumexp(weights, dim=0) - math.log(draws)


def main() -> None:
    torch.manual_seed(0)
    x = make_patterns(8)
    gaussian, discrete, quantised = GaussianVae(), DiscreteVae(), QuantisedVae()
    parameters = [weight for model in (gaussian, discrete, quantised) for weight in model.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lr_lambda=lambda epoch: 0.95)
    for step in range(3):
        optimizer.zero_grad()
        loss = gaussian.loss(x) + discrete.loss(x.clamp(0.01, 0.99), temperature=1.0 / (step + 1)) + quantised.loss(x)
        loss.backward()
        optimizer.step()
        scheduler.step()
        assert math.isfinite(loss.item())
    with torch.no_grad():
        bound = importance_bound(gaussian, x, draws=4)
    assert torch.isfinite(bound).all() and 1 <= quantised.perplexity() <= WORDS + 1e-3


if __name__ == "__main__":
    main()
