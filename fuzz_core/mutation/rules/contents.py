"""What stands inside a tensor: special numbers, signs and extremes of its dtype."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from math import isfinite

import numpy as np

from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Fill, Tensor
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import FLOATING, NUMERIC, TensorRule
from fuzz_core.mutation.rules.boundaries import INFINITY, NAN
from fuzz_core.mutation.rules.tensors import random_key, refilled

SPRINKLED_SHARE = 0.5
RANGES_KEPT = 4096
DENORMALS = {
    "float16": 6e-8,
    "float64": 5e-324,
    "complex128": 5e-324,
    "float8_e4m3fn": 2.0**-9,
    "float8_e5m2": 2.0**-16,
}
LARGEST = {
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float16": 65504.0,
    "complex32": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float64": 1.7976931348623157e308,
    "complex128": 1.7976931348623157e308,
}
_LARGEST_SINGLE = 3.4028234663852886e38
_SINGLE_DENORMAL = 1e-45
_LARGE_INDICES = (64.0, 1000.0, 65536.0, 2.0**31 - 1, 2.0**31, 2.0**40)


class ContentsRule(TensorRule):
    """A rule for the elements alone."""

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """The tensor with other contents."""
        return refilled(tensor, self.fill(tensor, ctx.rng))

    @abstractmethod
    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """The new contents."""


def _sprinkled(fill: Fill, number: float, rng: Rng) -> Fill:
    if rng.chance(SPRINKLED_SHARE):
        return fill._replace(special=number)
    return Fill("constant", number)


class RedrawnContents(TensorRule):
    """The elements drawn anew from their own range: as valid as before, and different every time."""

    name = "Redrawn Contents"
    dtype_kinds = NUMERIC

    def change(self, tensor: Tensor, ctx: Context) -> Tensor | None:
        """A tensor of the same shape; None where there is nothing to draw, or the range is not finite."""
        fill = tensor.fill
        if fill.kind == "constant" or 0 in tensor.shape:
            return None
        ends = (fill.low, fill.high) if fill.kind == "uniform" else _range(fill.data, DTYPES[tensor.dtype].storage)
        if ends is None or not ends[0] < ends[1]:
            return None
        return refilled(tensor, Fill("uniform", *ends, random_key(ctx.rng), special=fill.special))


@lru_cache(RANGES_KEPT)
def _range(data: bytes, storage: str) -> tuple[float, float] | None:
    """Smallest and largest of recorded elements; None where one is not finite, or there are none."""
    if len(data) < np.dtype(storage).itemsize or len(data) % np.dtype(storage).itemsize:
        return None
    flat = np.frombuffer(data, storage)
    parts = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
    ends = float(parts.min()), float(parts.max())
    return ends if all(map(isfinite, ends)) else None


class NanContents(ContentsRule):
    """NaN everywhere, or in every third element."""

    name = "NaN Contents"
    dtype_kinds = FLOATING

    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """A fill with NaN."""
        return _sprinkled(tensor.fill, NAN, rng)


class InfinityContents(ContentsRule):
    """Infinity of either sign everywhere, or in every third element."""

    name = "Infinity Contents"
    dtype_kinds = FLOATING

    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """A fill with an infinity."""
        return _sprinkled(tensor.fill, rng.choice((INFINITY, -INFINITY)), rng)


class DenormalContents(ContentsRule):
    """The smallest denormal of the dtype everywhere, or in every third element."""

    name = "Denormal Contents"
    dtype_kinds = FLOATING

    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """A fill with a denormal."""
        return _sprinkled(tensor.fill, DENORMALS.get(tensor.dtype, _SINGLE_DENORMAL), rng)


class NegativeContents(ContentsRule):
    """Negative numbers only, for dtypes that have them."""

    name = "Negative Contents"
    dtype_kinds = ("int", *FLOATING)

    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """A uniform fill below zero."""
        return Fill("uniform", rng.choice((-1.0, -10.0, -100.0)), -1.0 if rng.chance(0.3) else -1e-3, random_key(rng))


class ZeroContents(ContentsRule):
    """Zeros; one floating tensor of four gets negative zeros."""

    name = "Zero Contents"
    dtype_kinds = NUMERIC

    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """A constant fill of zero."""
        return Fill("constant", -0.0 if rng.chance(0.25) and DTYPES[tensor.dtype].kind in FLOATING else 0.0)


class OneContents(ContentsRule):
    """Ones: every label or index is the same, every product an identity."""

    name = "One Contents"
    dtype_kinds = NUMERIC

    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """A constant fill of one."""
        return Fill("constant", 1.0)


class MinusOneContents(ContentsRule):
    """Minus one in an integer tensor: an index that some apis take from the end, and others not at all."""

    name = "Minus One Contents"
    dtype_kinds = ("int",)

    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """A constant fill of minus one."""
        return Fill("constant", -1.0)


class LargeIndexContents(ContentsRule):
    """Integers far beyond any dimension, as far as the dtype goes."""

    name = "Large Index Contents"
    dtype_kinds = ("int", "uint")

    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """A uniform or constant fill of large integers."""
        top = rng.choice(_LARGE_INDICES)
        return Fill("constant", top) if rng.chance(0.5) else Fill("uniform", 0.0, top, random_key(rng))


class ExtremeContents(ContentsRule):
    """The smallest or the largest number that the dtype holds."""

    name = "Extreme Contents"
    dtype_kinds = NUMERIC

    def fill(self, tensor: Tensor, rng: Rng) -> Fill:
        """A constant fill of an extreme; sprinkled in some floating tensors."""
        highest = rng.chance(0.5)
        if DTYPES[tensor.dtype].kind in FLOATING:
            largest = LARGEST.get(tensor.dtype, _LARGEST_SINGLE)
            return _sprinkled(tensor.fill, largest if highest else -largest, rng)
        return Fill("constant", float(integer_bounds(tensor.dtype)[highest]))
