"""Injected randomness: the same seed gives the same stream on every Python version and machine."""

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")


def derive(*parts: object) -> int:
    """A 63-bit seed from the text of the parts: independent streams for independent names."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") >> 1


class Rng:
    """A stream built on `Random.random()` alone, whose sequence Python guarantees for an integer seed."""

    __slots__ = ("random",)

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random

    def below(self, limit: int) -> int:
        """An integer in [0, limit)."""
        return int(self.random() * limit)

    def between(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return low + int(self.random() * (high - low + 1))

    def uniform(self, low: float, high: float) -> float:
        """A float in [low, high)."""
        return low + self.random() * (high - low)

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.random() < probability

    def choice(self, items: Sequence[T]) -> T:
        """One item; raises IndexError when there is none."""
        return items[int(self.random() * len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One item, with probability proportional to its weight (all weights positive)."""
        mark = self.random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            mark -= weight
            if mark < 0:
                return item
        return items[-1]
