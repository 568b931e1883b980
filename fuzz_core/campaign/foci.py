"""Which kind of mutation next: a bandit over the foci of Algorithm 1."""

from __future__ import annotations

from collections.abc import Collection
from math import log, sqrt

from fuzz_core.mutation.contract import KINDS
from fuzz_core.mutation.focus import EVEN, FOCI

# Every so many leases keep the even mix: a kind that has brought nothing for long may be what the next bug needs.
EVEN_PERIOD = 3
DISCOUNT = 0.998


class Foci:
    """UCB1 on news per slice, relative to the mean of all, with what is long past discounted.

    disabled: kinds of rules that are off; their foci are out.
    """

    def __init__(self, disabled: Collection[str] = ()) -> None:
        self.names = [name for name in FOCI if name not in KINDS or name not in disabled]
        self.gain = dict.fromkeys(self.names, 0.0)
        self.slices = dict.fromkeys(self.names, 0.0)
        self.turns = 0

    def choose(self) -> str:
        """The focus of the next lease."""
        self.turns += 1
        return EVEN if self.turns % EVEN_PERIOD == 0 else max(self.names, key=self._score)

    def _score(self, name: str) -> float:
        spent = self.slices[name]
        if not spent:
            return float("inf")
        total = sum(self.slices.values())
        mean = sum(self.gain.values()) / total
        return (self.gain[name] / spent / mean if mean else 0.0) + sqrt(log(1 + total) / spent)

    def learn(self, name: str, slices: float, reward: float) -> None:
        """A lease with this focus has cost so many slices and brought so much."""
        for each in self.names:
            self.gain[each] *= DISCOUNT
            self.slices[each] *= DISCOUNT
        self.gain[name] += reward
        self.slices[name] += slices
