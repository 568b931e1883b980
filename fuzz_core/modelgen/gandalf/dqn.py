"""The paper's guidance: a deep Q-network with a replay memory (section 4.1.2, algorithm 1), and its double (DDQN)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.guidance import Epsilon, Pair

Floats: TypeAlias = NDArray[np.float64]
HIDDEN = 64
# The constants of Adam, as in its paper except for the step.
STEP, FIRST, SECOND, TINY = 1e-3, 0.9, 0.999, 1e-8
MEMORY, BATCH = 2000, 32
# The target network becomes a copy of the online network after every so many updates.
SYNCHRONISED = 50


class QNetwork:
    """A Q-network: two hidden layers with ReLU turn an observation into a value for each action (figure 4).

    The network is written in numpy: no library under test decides what is tested, and no second build of one is needed.

    Args:
        observations: how many there are; an observation is a number, which stands for a one-hot row.
        actions: how many there are.
    """

    def __init__(self, observations: int, actions: int, seed: int, hidden: int = HIDDEN) -> None:
        random = np.random.RandomState(seed)
        sizes = (observations, hidden, hidden, actions)
        self.weights = [random.normal(0.0, np.sqrt(2.0 / a), (a, b)) for a, b in pairwise(sizes)]
        # The initial values of all actions are near zero.
        self.weights[-1] *= 0.01
        self.weights += [np.zeros(size) for size in sizes[1:]]
        self.moments = [(np.zeros_like(each), np.zeros_like(each)) for each in self.weights]
        self.updates = 0

    def values(self, observations: Sequence[int]) -> Floats:
        """Return the values of all actions, in the shape (observations, actions)."""
        return self._forward(observations)[-1]

    def learn(self, observations: Sequence[int], actions: Sequence[int], targets: Floats) -> None:
        """Make a step of Adam on the Huber loss of these actions' values."""
        first, second, found = self._forward(observations)
        rows = np.arange(len(actions))
        errors = found[rows, actions] - targets
        slope = np.zeros_like(found)
        slope[rows, actions] = np.clip(errors, -1.0, 1.0) / len(actions)
        _, w2, w3, *_ = self.weights
        back2 = (slope @ w3.T) * (second > 0)
        back1 = (back2 @ w2.T) * (first > 0)
        w1 = np.zeros_like(self.weights[0])
        np.add.at(w1, list(observations), back1)
        gradients = [w1, first.T @ back2, second.T @ slope, back1.sum(0), back2.sum(0), slope.sum(0)]
        self._step(gradients)

    def copy_from(self, other: QNetwork) -> None:
        """Copy the weights of another network."""
        self.weights = [each.copy() for each in other.weights]

    def saved(self) -> dict[str, Floats]:
        """Return the weights, by name."""
        return {f"w{place}": each for place, each in enumerate(self.weights)}

    def restore(self, saved: Mapping[str, Floats]) -> bool:
        """Restore saved weights.

        Returns:
            False, without a change, if they have other sizes.
        """
        found = [saved.get(f"w{place}") for place in range(len(self.weights))]
        if any(new is None or new.shape != old.shape for new, old in zip(found, self.weights, strict=True)):
            return False
        self.weights = [np.array(each, np.float64) for each in found]
        return True

    def _forward(self, observations: Sequence[int]) -> tuple[Floats, Floats, Floats]:
        w1, w2, w3, b1, b2, b3 = self.weights
        first = np.maximum(w1[list(observations)] + b1, 0.0)
        second = np.maximum(first @ w2 + b2, 0.0)
        return first, second, second @ w3 + b3

    def _step(self, gradients: Sequence[Floats]) -> None:
        self.updates += 1
        rate = STEP * np.sqrt(1 - SECOND**self.updates) / (1 - FIRST**self.updates)
        for place, gradient in enumerate(gradients):
            mean, square = self.moments[place]
            mean += (1 - FIRST) * (gradient - mean)
            square += (1 - SECOND) * (gradient**2 - square)
            self.weights[place] -= rate * mean / (np.sqrt(square) + TINY)


class Memory(NamedTuple):
    """A choice of an operator, as the replay memory stores it.

    Operators are given by their place.
    """

    before: int  # the operator before, or the empty name at the beginning of a path
    chosen: int
    reward: float  # what the choice was worth
    ended: bool  # whether no operator followed the chosen one


class Dqn(Epsilon):
    """The deep Q-network of algorithm 1.

    Actions are operators, and observations are operators, too.

    Args:
        operators: all operators that may be chosen.
        discount: weight of later rewards. The reward of a graph reaches all of its choices, so a low discount is
            enough.
    """

    def __init__(self, rng: Rng, operators: Iterable[str], discount: float = 0.5) -> None:
        super().__init__(rng)
        self.places = {name: place for place, name in enumerate(["", *sorted(operators)])}
        seed = rng.below(2**32)
        self.online, self.target = (QNetwork(len(self.places), len(self.places), seed) for _ in range(2))
        self.discount = discount
        self.memory: deque[Memory] = deque(maxlen=MEMORY)
        self.row: tuple[str, int, Floats] | None = None
        # Row: an operator. Column: whether that operator has ever been allowed to follow.
        self.follows = np.zeros((len(self.places), len(self.places)), np.bool_)
        # The lowest and the highest return of a graph so far.
        self.least = self.most = 0.0

    def choose(self, before: str, names: Sequence[str]) -> str:
        """Note which operators may follow, and choose by algorithm 1."""
        self.follows[self.places[before], [self.places[name] for name in names]] = True
        return super().choose(before, names)

    def value(self, before: str, name: str) -> float:
        """Return the value that the online network gives."""
        if self.row is None or self.row[:2] != (before, self.online.updates):
            self.row = before, self.online.updates, self.decoded(self.online.values([self.places[before]])[0])
        return float(self.row[2][self.places[name]])

    def decoded(self, outputs: Floats) -> Floats:
        """Return the Q-values of network outputs (figure 4), limited to the range of returns that graphs have had."""
        return outputs.clip(self.least, self.most)

    def learn_rewards(self, chosen: Sequence[Pair], rewards: Sequence[float]) -> None:
        """Remember the choices, and learn from a batch of the memory once for each choice."""
        returned = 0.0
        for reward in reversed(rewards):
            returned = reward + self.discount * returned
            self.least, self.most = min(self.least, returned), max(self.most, returned)
        pairs = [(self.places[before], self.places[name]) for before, name in chosen]
        follow = {before for before, _ in pairs}
        self.memory.extend(
            Memory(before, name, reward, name not in follow)
            for (before, name), reward in zip(pairs, rewards, strict=True)
        )
        for _ in pairs:
            self._learn()

    def worth(self, after: Sequence[int]) -> Floats:
        """Return the value of the best operator that may follow each of these operators."""
        best: Floats = self.decoded(self._allowed(self.target, after).max(1))
        return best

    def saved(self) -> dict[str, Floats]:
        """Return weights, successors and the range of returns, so that a later run can go on with them.

        The memory is not saved.
        """
        follows = self.follows.astype(np.float64)
        return {**self.online.saved(), "follows": follows, "returns": np.array([self.least, self.most])}

    def restore(self, saved: Mapping[str, Floats]) -> bool:
        """Restore what was learnt before; False if the operators differ, or the returns are missing."""
        if "returns" not in saved or saved.get("follows", np.empty(0)).shape != self.follows.shape:
            return False
        restored = self.online.restore(saved)
        self.follows = saved["follows"] > 0
        self.least, self.most = saved["returns"].tolist()
        self.target.copy_from(self.online)
        self.row = None
        return restored

    def _allowed(self, network: QNetwork, after: Sequence[int]) -> Floats:
        """Return a network's values of the operators that may follow these; operators that may not follow get -inf."""
        return np.where(self.follows[list(after)], network.values(after), -np.inf)

    def _learn(self) -> None:
        batch = [self.memory[self.rng.below(len(self.memory))] for _ in range(min(BATCH, len(self.memory)))]
        after = self.worth([each.chosen for each in batch]) * self.discount
        rewards = np.array([each.reward for each in batch])
        targets = rewards + np.where([each.ended for each in batch], 0.0, after)
        self.online.learn([each.before for each in batch], [each.chosen for each in batch], targets)
        if self.online.updates % SYNCHRONISED == 0:
            self.target.copy_from(self.online)


class DoubleDqn(Dqn):
    """The double DQN: the online network chooses the best operator, and the target network gives its value."""

    def worth(self, after: Sequence[int]) -> Floats:
        """Return the target network's value of the operator that the online network chooses."""
        best = self._allowed(self.online, after).argmax(1)
        return self.decoded(self.target.values(after)[np.arange(len(after)), best])
