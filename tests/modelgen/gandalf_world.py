"""A made-up world for guidances: operators with fixed successors; some operators have a bug."""

from __future__ import annotations

from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.guidance import Guidance, Noting

OPERATORS, SUCCESSORS, BUGGY, LENGTH = 150, 25, 4, 7


class GandalfWorld:
    """A grammar: each operator has `SUCCESSORS` that may follow it. A graph with a `BUGGY` operator has a bug."""

    def __init__(self, seed: int) -> None:
        rng = Rng(derive("world", seed))
        self.names = [f"op{number}" for number in range(OPERATORS)]
        self.successors = {name: _drawn(self.names, SUCCESSORS, rng) for name in ["", *self.names]}
        self.buggy = set(_drawn(self.names, BUGGY, rng))

    def graphs(self, guidance: Guidance, number: int) -> list[bool]:
        """Lets a guidance make graphs of `LENGTH` operators each. Returns for each graph whether it has a bug."""
        return [self._graph(guidance) for _ in range(number)]

    def _graph(self, guidance: Guidance) -> bool:
        guide, before = Noting(guidance), ""
        for _ in range(LENGTH):
            before = guide(before, self.successors[before])
        chosen = guide.taken()
        has_bug = any(name in self.buggy for _, name in chosen)
        guidance.learn_reward(chosen, float(has_bug))
        return has_bug


def _drawn(names: list[str], number: int, rng: Rng) -> list[str]:
    left = list(names)
    return sorted(left.pop(rng.below(len(left))) for _ in range(number))
