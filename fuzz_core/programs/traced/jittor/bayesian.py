"""Bayesian learning: a layer with uncertain weights, a latent variable model and priors with their divergences."""

import math

import jittor as jt
from jittor import distributions, init, nn


class UncertainLinear(nn.Module):
    """Each weight is a normal variable; its noise is drawn anew at every call."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.mean, self.raw = init.gauss((outputs, inputs), std=0.3), init.constant((outputs, inputs), value=-2.0)

    def posterior(self) -> distributions.Normal:
        return distributions.Normal(self.mean, nn.softplus(self.raw) + 1e-3)

    def execute(self, x: jt.Var) -> jt.Var:
        posterior = self.posterior()
        weight = posterior.mu + posterior.sigma * jt.randn_like(self.mean)
        return nn.matmul_transpose(x, weight)

    def cost(self) -> jt.Var:
        """The divergence from a standard normal prior."""
        prior = distributions.Normal(jt.zeros_like(self.mean), jt.ones_like(self.mean))
        return distributions.kl_divergence(self.posterior(), prior).sum()


class Autoencoder(nn.Module):
    """A latent variable model of binary rows."""

    def __init__(self, inputs: int, latent: int) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(inputs, 2 * latent), UncertainLinear(latent, inputs)

    def execute(self, x: jt.Var) -> tuple[jt.Var, jt.Var]:
        mean, spread = jt.chunk(self.encode(x), 2, dim=1)
        latent = mean + jt.exp(0.5 * spread) * jt.randn(mean.shape)
        divergence = -0.5 * (1 + spread - mean.sqr() - spread.exp()).sum(1)
        return self.decode(latent), divergence


def make_rows(count: int) -> jt.Var:
    """Binary rows whose two halves have a common chance each."""
    chance = jt.repeat_interleave(jt.rand(count, 2), 3, dim=1)
    return jt.bernoulli(chance)


def uniform_by_error_function(count: int) -> jt.Var:
    """Normal numbers to uniform ones and back, by the error function and its inverse."""
    normal = jt.normal(0.0, 1.0, size=(count,)).clamp(-2.5, 2.5)
    uniform = 0.5 * (1 + jt.erf(normal / math.sqrt(2.0)))
    back = jt.erfinv(2 * uniform - 1) * math.sqrt(2.0)
    assert (back - normal).abs().max().item() < 1e-2
    return uniform


def discrete(count: int) -> jt.Var:
    """Draws of categories, their chances and their entropy."""
    chances = nn.softmax(jt.randn(count, 3), dim=1)
    one_hot, plain = distributions.OneHotCategorical(probs=chances), distributions.Categorical(probs=chances)
    drawn = plain.sample((2,))
    assert drawn.shape == (2, count) and one_hot.sample([2]).shape == (2, count, 3)
    assert (plain.entropy() - one_hot.entropy()).abs().max().item() < 1e-5
    return distributions.kl_divergence(plain, distributions.Categorical(probs=jt.ones_like(chances)))


def waiting() -> float:
    """Divergence and entropy of waiting times and of intervals, which are plain numbers."""
    first, second = distributions.Geometric(p=0.3), distributions.Geometric(p=0.5)
    wide, narrow = (
        distributions.Uniform(jt.array([0.0]), jt.array([3.0])),
        distributions.Uniform(jt.array([1.0]), jt.array([2.0])),
    )
    assert abs(wide.entropy().item() - math.log(3.0)) < 1e-4
    assert distributions.kl_divergence(narrow, wide).item() >= 0 and first.logits.item() < second.logits.item()
    return (first.log_prob(jt.array([2.0])) + wide.log_prob(jt.array([1.5]))).item()


def temper(step: int) -> float:
    return min(1.0, 0.1 * (step + 1))


def main() -> None:
    jt.set_global_seed(22)
    rows, model = make_rows(6), Autoencoder(6, 2)
    optimizer = jt.optim.Adam(model.parameters(), lr=0.02)
    for step in range(2):
        logits, divergence = model(rows)
        error = nn.binary_cross_entropy_with_logits(logits, rows, size_average=False) / rows.shape[0]
        loss = error + temper(step) * (divergence.mean() + 0.01 * model.decode.cost())
        optimizer.step(loss)
        assert math.isfinite(loss.item())
    with jt.no_grad():
        guesses = jt.stack([model(rows)[0].sigmoid() for _ in range(3)], dim=0)
        doubt = guesses.var(dim=0, unbiased=True)
        bound = jt.std(guesses, 0).max().item()
    assert doubt.shape == rows.shape and bound >= 0
    uniform = uniform_by_error_function(5)
    assert 0.0 <= uniform.min().item() <= uniform.max().item() <= 1.0
    assert bool(jt.isfinite(discrete(4)).all()) and math.isfinite(waiting())


if __name__ == "__main__":
    main()
