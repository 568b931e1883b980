"""The same call in double precision, on exactly the same numbers, for any library whose tensors are made of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz_core.adapters.building import Change
from fuzz_core.adapters.defaults import DefaultAdapter
from fuzz_core.adapters.modes import Changed, Clock
from fuzz_core.ir.dtypes import DTYPES, widened
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Prim, Ref, Tensor, TestCase


class Widened:
    """Tensors and dtypes as doubles. noise: largest relative change of an element, in its dtype's epsilons."""

    def __init__(self, adapter: DefaultAdapter, noise: float = 0.0) -> None:
        self.adapter = adapter
        self.noise = noise

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        dtype, wide = DTYPES[described.dtype], widened(described.dtype)
        # What is a double already is off by its own roundings.
        if not dtype.floating or (wide == dtype.name and not self.noise):
            return live
        array = nudged(self.adapter.arrays.of(described).astype(wide), self.noise * dtype.epsilon)
        if described.container == "ndarray":
            return array
        return self.adapter.tensor(array, described._replace(dtype=wide), self.adapter.enter("cpu"))

    def instance(self, live: Any) -> Any:
        """See `Change`."""
        return live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        if ref.kind == "dtype":
            return Ref("dtype", widened(ref.name))
        owner, _, plain = ref.name.rpartition(".")
        return Ref("name", f"{owner}.{widened(plain)}") if owner == self.adapter.library else ref


def nudged(array: Any, share: float) -> Any:
    """Every element off by this share at most, by an amount that depends on its place: equal ones differ afterwards.

    Zeros too, by as much as the largest element.
    """
    if not share:
        return array
    places = np.arange(array.size, dtype=np.float64).reshape(array.shape)
    shares = share * np.cos(1 + 2.4 * places)
    largest = np.nan_to_num(np.abs(array), posinf=0.0).max(initial=0.0)
    return np.where(array == 0, shares * (largest or 1.0), array * (1 + shares))


class Doubled(Changed):
    """A call whose arguments are doubles, and the dtypes that it names."""

    adapter: DefaultAdapter
    noise = 0.0

    def __init__(self, adapter: DefaultAdapter, clock: Clock) -> None:
        super().__init__(adapter, clock)
        prim = self.builder.makers[Prim]
        self.builder.makers[Prim] = lambda value: prim(_wide_name(value))

    def change(self) -> Change:
        """See `Changed`."""
        return Widened(self.adapter, self.noise)

    def applies(self, test: TestCase) -> bool:
        """Where there is a tensor of a narrower floating-point dtype."""
        return any(widened(tensor.dtype) != tensor.dtype for tensor in tensors_of(test.invocation))


def _wide_name(value: Prim) -> Prim:
    return Prim("str", widened(str(value.value))) if value.type == "str" else value


class Precise(Doubled):
    """Double precision. Compared with the plain result in this alone: whether that is a number where this is one."""

    relation = "finite"

    def run(self, test: TestCase) -> Any:
        """See `Mode`. Raises BuildError where the result is no more precise than the plain one."""
        result = super().run(test)
        names = [leaf.dtype.name for leaf in self.adapter.comparer.arrays(result) if leaf is not None]
        if any(widened(name) != name for name in names):
            raise BuildError("the result is no double")
        return result


class Nudged(Precise):
    """Double precision on numbers that differ from the test case's by a few roundings: how much that changes.

    Compared with nothing by itself.
    """

    against = ""
    relation = ""
    noise = 4.0


class NudgedBack(Nudged):
    """As much off in the other direction: what a nudge leaves as it was, a tie for one, the opposite one changes."""

    noise = -4.0
