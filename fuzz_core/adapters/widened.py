"""The same call in double precision, on exactly the same numbers: what other modes are judged by."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any

import numpy as np

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.modes import Clock, Mode
from fuzz_core.ir.dtypes import DTYPES, double_of
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Prim, Ref, Tensor, TestCase


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


def is_narrow(dtype: str) -> bool:
    """Whether it has a double that is another dtype."""
    return double_of(dtype) != dtype


class Doubled(Mode):
    """A call whose tensors are doubles, and the dtypes that it names.

    module: what public names begin with, by default the library's name. The noise of its record is the largest relative
    change of an element, in its dtype's epsilons.
    """

    module = ""

    def __init__(self, adapter: Adapter, spec: ModeSpec, clock: Clock = perf_counter) -> None:
        super().__init__(adapter, spec, clock)
        prim = self.builder.makers[Prim]
        self.builder.makers[Prim] = lambda value: prim(self._named(value))

    def applies(self, test: TestCase) -> bool:
        """Where there is a tensor of a narrower floating-point dtype."""
        return any(is_narrow(tensor.dtype) for tensor in tensors_of(test.invocation))

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`."""
        dtype = DTYPES[described.dtype]
        # What is a double already is off by its own roundings.
        if not (is_narrow(dtype.name) or (self.spec.noise and dtype.floating)):
            return live
        wide = self.numbers(live, described).astype(double_of(dtype.name))
        array = nudged(wide, self.spec.noise * dtype.epsilon)
        return array if described.container == "ndarray" else self.made(array, live, described)

    def ref(self, ref: Ref) -> Ref:
        """See `Mode`."""
        if ref.kind == "dtype":
            return Ref("dtype", double_of(ref.name))
        owner, _, plain = ref.name.rpartition(".")
        named = owner == (self.module or self.adapter.library)
        return Ref("name", f"{owner}.{double_of(plain)}") if named else ref

    def numbers(self, live: Any, described: Tensor) -> Any:
        """The elements of a tensor as an array of numpy's."""
        return self.adapter.arrays.of(described)

    def made(self, array: Any, live: Any, described: Tensor) -> Any:
        """A tensor of doubles, in place of the live one."""
        wide = described._replace(dtype=double_of(described.dtype))
        return self.adapter.tensor(array, wide, self.adapter.enter("cpu"))

    def _named(self, value: Prim) -> Prim:
        return Prim("str", double_of(str(value.value))) if value.type == "str" else value


class Precise(Doubled):
    """Double precision. Compared with the plain result in this alone: whether that is a number where this is one."""

    def run(self, test: TestCase) -> Any:
        """See `Mode`. Raises BuildError where the result is no more precise than the plain one."""
        result = super().run(test)
        if any(map(is_narrow, self.dtypes(result))):
            raise BuildError("the result is no double")
        return result

    def dtypes(self, result: Any) -> Iterable[str]:
        """The names of the dtypes in a result."""
        return (leaf.dtype.name for leaf in self.adapter.comparer.arrays(result) if leaf is not None)
