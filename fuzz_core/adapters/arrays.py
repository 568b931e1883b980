"""Dense arrays as descriptions, small ones with their elements, large ones with their range; and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import copysign
from typing import Any, Generic, TypeVar

import numpy as np

from fuzz_core.ir.drawing import elements, pack
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError, Undescribable
from fuzz_core.ir.values import Fill, Tensor

MAX_ELEMENTS = 1 << 22
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


KEPT_FLOATS = 64
KEPT_INTEGERS = 1024
MAX_COPIED = 1024
# The dtypes of numpy itself, by name.
NUMPY_DTYPES: Mapping[str, Any] = {
    name: np.dtype(dtype.storage) for name, dtype in DTYPES.items() if name == dtype.storage
}


def check_size(count: int) -> None:
    """Raises BuildError above MAX_ELEMENTS."""
    if count > MAX_ELEMENTS:
        raise BuildError(f"{count} elements are more than {MAX_ELEMENTS}")


class Arrays:
    """Arrays with exactly the elements of `fuzz_core.ir.drawing`, row-major, whatever the strides.

    dtypes: by name, the numpy dtype of an array that becomes a tensor of the library. An array of container `ndarray`
    stays one, in the storage type of its dtype, whether or not the library has that.
    """

    def __init__(self, dtypes: Mapping[str, Any] = NUMPY_DTYPES) -> None:
        self.dtypes = dtypes
        self.masters: Masters[Any] = Masters(self._drawn)

    def of(self, tensor: Tensor) -> Any:
        """A new array. Raises BuildError above MAX_ELEMENTS or for an absent dtype."""
        return self.masters.of(tensor).copy() if tensor.size <= MAX_COPIED else self._drawn(tensor)

    def _drawn(self, tensor: Tensor) -> Any:
        check_size(tensor.size)
        if tensor.container != "ndarray" and tensor.dtype not in self.dtypes:
            raise BuildError(f"no dtype {tensor.dtype} in this target")
        array = elements(tensor).reshape(tensor.shape)
        if tensor.container == "ndarray" or array.dtype == self.dtypes[tensor.dtype]:
            return array
        with np.errstate(all="ignore"):
            return array.astype(self.dtypes[tensor.dtype])


def describe_array(array: Any, container: str) -> Tensor:
    """A dense numpy array as a Tensor. Raises Undescribable for dtypes outside the table (objects, records)."""
    name = array.dtype.name
    if array.dtype.kind in "OSU":
        name = "string"
        if not all(isinstance(item, str | bytes) for item in array.ravel()[:KEPT_INTEGERS]):
            raise Undescribable("numpy array of objects")
        array = array.astype(object)
    if name not in DTYPES:
        raise Undescribable(f"numpy array of {name}")
    return Tensor(name, tuple(int(n) for n in array.shape), fill_of(array, DTYPES[name].kind), container)


def fill_of(array: Any, kind: str) -> Fill:
    """Small arrays keep their elements, large ones their range."""
    if array.size == 0:
        return Fill()
    if kind == "string":
        return Fill("values", data=pack(array.ravel()[:KEPT_INTEGERS]))
    if array.size <= (KEPT_FLOATS if kind in ("float", "complex") else KEPT_INTEGERS):
        return Fill("values", data=pack(array))
    numbers = array.view(array.real.dtype) if kind == "complex" else array
    return summary(numbers)


def summary(numbers: Any) -> Fill:
    """The range of many numbers, as a uniform draw; NaN or infinity among them becomes `special`."""
    if numbers.dtype.kind != "f":
        return Fill("uniform", float(numbers.min()), float(numbers.max()))
    finite = numbers[np.isfinite(numbers)]
    if finite.size == 0:
        return Fill("constant", float(numbers.reshape(-1)[0]))
    special = None if finite.size == numbers.size else float(numbers[~np.isfinite(numbers)][0])
    return Fill("uniform", float(finite.min()), float(finite.max()), special=special)
