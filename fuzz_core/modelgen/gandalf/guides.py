"""The table of all guidances, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection

from fuzz_core.ir.errors import UserError
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.dqn import DoubleDqn, Dqn
from fuzz_core.modelgen.gandalf.guidance import (
    Alike,
    DoubleQ,
    Genetic,
    Guidance,
    Mcmc,
    NoveltyBandit,
    PairBandit,
    QLearning,
)

# A guidance is made from a stream of random numbers and the names of all operators.
GUIDANCE: dict[str, Callable[[Rng, Collection[str]], Guidance]] = {
    "random": lambda rng, _: Alike(rng),
    "mcmc": lambda rng, _: Mcmc(rng),
    "genetic": lambda rng, _: Genetic(rng),
    "q": lambda rng, _: QLearning(rng),
    "double-q": lambda rng, _: DoubleQ(rng),
    "dqn": Dqn,
    "ddqn": DoubleDqn,
    "bandit": lambda rng, _: PairBandit(rng),
    "novelty": lambda rng, _: NoveltyBandit(rng),
}


def check_guidance(name: str) -> None:
    """Raise UserError if there is no guidance of this name."""
    if name not in GUIDANCE:
        raise UserError(f"guidance {name!r} does not exist", f"write one of: {', '.join(GUIDANCE)}")
