"""Dense arrays as descriptions: small ones keep their elements, large ones their range."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz_core.ir.drawing import pack
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import Undescribable
from fuzz_core.ir.values import Fill, Tensor

KEPT_FLOATS = 64
KEPT_INTEGERS = 1024


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
