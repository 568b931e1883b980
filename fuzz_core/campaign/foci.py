"""Which mutation next: a bandit over the rules of Algorithm 1 and their kinds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log, sqrt

from fuzz_core.mutation.contract import KINDS
from fuzz_core.mutation.focus import EVEN, FOCI
from fuzz_core.mutation.registry import CALL_MUTATORS, MUTATORS, load_mutators

# Every so many leases keep the even mix: a rule that has brought nothing for long may be what the next bug needs.
EVEN_PERIOD = 2
DISCOUNT = 0.999
CURIOSITY = 0.3


class Foci:
    """UCB1 on rewards per slice, relative to the mean of all, with what is long past discounted.

    disabled: rules, or kinds of rules, that are off; their foci are out.
    """

    def __init__(self, disabled: Collection[str] = ()) -> None:
        kinds = [name for name in FOCI if name not in KINDS or name not in disabled]
        self.names = [*kinds, *(rule.name for rule in load_mutators(MUTATORS, disabled))]
        self.gain = dict.fromkeys(self.names, 0.0)
        self.slices = dict.fromkeys(self.names, 0.0)
        self.turns = 0

    def choose(self) -> str:
        """The focus of the next lease."""
        self.turns += 1
        if self.turns % EVEN_PERIOD == 0:
            return EVEN
        total, gain = sum(self.slices.values()), sum(self.gain.values())
        mean = gain / total if gain else 1.0

        def score(name: str) -> float:
            spent = self.slices[name] + 1.0
            return self.gain[name] / spent / mean + CURIOSITY * sqrt(len(self.names) * log(2 + total) / spent)

        return max(self.names, key=score)

    def named(self, rules: Sequence[str]) -> list[str]:
        """The foci of these rules; rules for whole calls share one. Names that are none are left out."""
        known = ["call" if rule in CALL_MUTATORS else rule for rule in rules]
        return [rule for rule in known if rule in self.gain]

    def learn(self, name: str, slices: float, reward: float) -> None:
        """A lease with this focus has cost so many slices and brought so much."""
        for each in self.names:
            self.gain[each] *= DISCOUNT
            self.slices[each] *= DISCOUNT
        self.gain[name] += reward
        self.slices[name] += slices
