"""Injected randomness: the same seed gives the same stream on every Python version and machine."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")
_BITS = (1 << 64) - 1


def derive(*parts: object) -> int:
    """Return a 63-bit seed from the text of the parts: independent streams for independent names."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little") >> 1


def _numbers(state: int) -> Iterator[float]:
    """Yield the upper 53 bits of Knuth's linear congruential generator (MMIX), as numbers in [0, 1).

    Setting up Python's own generator costs more than all that one mutant draws from it.
    """
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) & _BITS
        yield (state >> 11) * 2.0**-53


class Rng:
    """A stream that depends on its seed alone; `random()` is a number in [0, 1).

    Seeds come from `derive`.
    """

    __slots__ = ("random",)

    def __init__(self, seed: int) -> None:
        self.random = _numbers(seed).__next__

    def below(self, limit: int) -> int:
        """Return an integer in [0, limit)."""
        return int(self.random() * limit)

    def between(self, low: int, high: int) -> int:
        """Return an integer in [low, high]."""
        return low + int(self.random() * (high - low + 1))

    def uniform(self, low: float, high: float) -> float:
        """Return a float in [low, high)."""
        return low + self.random() * (high - low)

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.random() < probability

    def choice(self, items: Sequence[T]) -> T:
        """Draw an item; raise IndexError if there is none."""
        return items[int(self.random() * len(items))]

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """Draw an item, with probability proportional to its weight (all weights positive)."""
        mark = self.random() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            mark -= weight
            if mark < 0:
                return item
        return items[-1]
