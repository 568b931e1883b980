"""Guidances by name, and their experience: kept for the next round in the session, for the next night in a file."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fuzz_core.campaign.session import Session
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
from fuzz_core.modelgen.gandalf.table import Library

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
# Guidances whose knowledge is kept in the state directory.
Kept = Dqn | NoveltyBandit


@dataclass
class Experience:
    """Knowledge of a session about its graphs, from round to round."""

    guidance: Guidance | None = None  # made by the first round
    signatures: set[tuple[Library, str]] = field(default_factory=set)  # signatures of findings, by library
    # The graphs that were made, see `graph.canonical`.
    graphs: set[int] = field(default_factory=set)
    structures: set[int] = field(default_factory=set)  # structures of the graphs that were made, see `graph.structure`


def path_of(session: Session, name: str) -> Path:
    """Return the file in which a guidance of this name is kept."""
    return session.state_dir / "guidance" / f"{name}.npz"


def recall(session: Session, name: str, guidance: Guidance) -> bool:
    """Go on with the saved experience if there is any, and if it is about the same operators."""
    path = path_of(session, name)
    if not isinstance(guidance, Kept) or not path.exists():
        return False
    try:
        with np.load(path, allow_pickle=False) as saved:
            return guidance.restore(dict(saved))
    except (OSError, EOFError, ValueError, zipfile.BadZipFile):
        session.watch.note(f"cannot read {path}: nightfuzz begins without the experience of earlier runs")
        return False


def keep(session: Session, name: str, guidance: Guidance) -> None:
    """Save what the guidance has learnt; if writing fails, the earlier file stays."""
    if not isinstance(guidance, Kept):
        return
    path = path_of(session, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_name(f"{path.name}.new")
    with whole.open("wb") as file:
        np.savez(file, **guidance.saved())
    whole.replace(path)


def check_guidance(name: str) -> None:
    """Raise UserError if there is no guidance of this name."""
    if name not in GUIDANCE:
        raise UserError(f"guidance {name!r} does not exist", f"write one of: {', '.join(GUIDANCE)}")
