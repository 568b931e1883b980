"""The paper's guidance: a deep Q-network with a replay memory (section 4.1.2, algorithm 1), and its double (DDQN)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.guidance import Epsilon, Pair
from fuzz_core.modelgen.gandalf.network import Floats, QNetwork

MEMORY, BATCH = 2000, 32
# The network that says what follows is worth is the other one as it was so many updates ago.
SYNCHRONISED = 50


class Memory(NamedTuple):
    """One choice: the operator before, the one chosen, what that was worth; ended: whether nothing followed."""

    before: int
    chosen: int
    reward: float
    ended: bool


class Dqn(Epsilon):
    """operators: all that may be chosen. discount: of what follows. Actions are operators, and so are observations."""

    def __init__(self, rng: Rng, operators: Iterable[str], discount: float = 0.9) -> None:
        super().__init__(rng)
        self.places = {name: place for place, name in enumerate(["", *sorted(operators)])}
        seed = rng.below(2**32)
        self.online, self.target = (QNetwork(len(self.places), len(self.places), seed) for _ in range(2))
        self.discount = discount
        self.memory: deque[Memory] = deque(maxlen=MEMORY)
        self.row: tuple[str, int, Floats] | None = None

    def value(self, before: str, name: str) -> float:
        """The network's."""
        if self.row is None or self.row[:2] != (before, self.online.updates):
            self.row = before, self.online.updates, self.online.values([self.places[before]])[0]
        return float(self.row[2][self.places[name]])

    def told(self, chosen: Sequence[Pair], reward: float) -> None:
        """Remembers the choices, and learns once for each, from a batch of what it remembers."""
        pairs = [(self.places[before], self.places[name]) for before, name in chosen]
        follow = {before for before, _ in pairs}
        self.memory.extend(Memory(before, name, reward, name not in follow) for before, name in pairs)
        for _ in pairs:
            self._learn()

    def worth(self, after: Sequence[int]) -> Floats:
        """What the best that may follow these operators is worth."""
        best: Floats = self.target.values(after).max(1)
        return best

    def saved(self) -> dict[str, Floats]:
        """What it has learnt, to go on with the next night; the memory is not kept."""
        return self.online.saved()

    def restore(self, saved: Mapping[str, Floats]) -> bool:
        """Goes on with what was learnt before; False where that was about other operators."""
        restored = self.online.restore(saved)
        self.target.copy_from(self.online)
        self.row = None
        return restored

    def _learn(self) -> None:
        batch = [self.memory[self.rng.below(len(self.memory))] for _ in range(min(BATCH, len(self.memory)))]
        after = self.worth([each.chosen for each in batch]) * self.discount
        rewards = np.array([each.reward for each in batch])
        targets = rewards + np.where([each.ended for each in batch], 0.0, after)
        self.online.learn([each.before for each in batch], [each.chosen for each in batch], targets)
        if self.online.updates % SYNCHRONISED == 0:
            self.target.copy_from(self.online)


class DoubleDqn(Dqn):
    """The network that learns says which operator is best, the other one what that is worth."""

    def worth(self, after: Sequence[int]) -> Floats:
        """See the class."""
        best = self.online.values(after).argmax(1)
        worth: Floats = self.target.values(after)[np.arange(len(after)), best]
        return worth
