"""A Q-network: two hidden layers with ReLU turn an observation into a value for each action (figure 4).

The network is written in numpy: no library under test decides what is tested, and no second build of one is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
HIDDEN = 64
# The constants of Adam, as in its paper except for the step.
STEP, FIRST, SECOND, TINY = 1e-3, 0.9, 0.999, 1e-8


class QNetwork:
    """A network of values for each pair of an observation and an action.

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

    def learn(self, observations: Sequence[int], actions: Sequence[int], targets: Floats) -> float:
        """Make a step of Adam on the Huber loss of these actions' values.

        Returns:
            The mean absolute error before.
        """
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
        return float(np.abs(errors).mean())

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
