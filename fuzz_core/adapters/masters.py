"""Tensors built before, kept to be copied: a copy costs a microsecond, drawing the elements again ten or more."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Generic, TypeVar

from fuzz_core.ir.values import Tensor

MAX_ENTRIES = 2048

Live = TypeVar("Live")
Key = tuple[Tensor, float, float]


class Masters(Generic[Live]):
    """`make(tensor)` once per description, as long as it is asked for now and then.

    What is handed out is the master itself: the caller copies it, because a test may write into its arguments.
    Bounded: of two generations the older one is dropped when the younger one is full.
    """

    def __init__(self, make: Callable[[Tensor], Live], entries: int = MAX_ENTRIES) -> None:
        self.make = make
        self.entries = entries
        self.young: dict[Key, Live] = {}
        self.old: dict[Key, Live] = {}

    def of(self, tensor: Tensor) -> Live:
        """The master of a description. Raises what `make` raises, and keeps nothing then."""
        fill = tensor.fill
        # Descriptions that differ in the sign of a zero are equal, their elements are not.
        key = (tensor, copysign(1.0, fill.low), 0.0 if fill.special is None else copysign(1.0, fill.special))
        found = self.young.get(key)
        if found is None:
            found = self.old.get(key)
            self._keep(key, found := self.make(tensor) if found is None else found)
        return found

    def _keep(self, key: Key, master: Live) -> None:
        if len(self.young) >= self.entries:
            self.old, self.young = self.young, {}
        self.young[key] = master
