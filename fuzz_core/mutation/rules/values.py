"""Boundary scalars, and what stands inside a tensor: special numbers, signs and extremes of its dtype.

Boundaries are values at which sizes, indices, casts and loops tend to break.
"""

from __future__ import annotations

from functools import lru_cache
from math import isfinite

import numpy as np

from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.elements import POOL_SIZE, pack
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Fill, Prim, Tensor
from fuzz_core.mutation.contract import FLOATING, NUMERIC, Context, mutator, scalars, tensors

SMALL_INTEGERS = (0, 0, -1, -1, 1, 2, -2, -3)
LARGE_INTEGERS = (127, 255, 256, 65536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63 - 1, -(2**63))
INFINITY = float("inf")
NAN = float("nan")
FLOATS = (
    *(0.0, -0.0, NAN, INFINITY, -INFINITY, 5e-324, 1e-45, 2.220446049250313e-16, -1.0, 1.0),
    *(1e38, 3.4028234663852886e38, 1.7976931348623157e308, -1.7976931348623157e308),
)

COMMON_DTYPES = tuple(name for name, dtype in DTYPES.items() if not dtype.rare and dtype.kind != "string")
RARE_DTYPES = tuple(name for name, dtype in DTYPES.items() if dtype.rare)
RARE_DTYPE_SHARE = 0.08

SPRINKLED_SHARE = 0.5
RANGES_KEPT = 4096
CONVERSIONS_KEPT = 2048
_LARGE_INDICES = (64.0, 1000.0, 65536.0, 2.0**31 - 1, 2.0**31, 2.0**40)


@mutator("Boundary Integer", scalars("int"), boundary=True)
def boundary_integer(value: Prim, ctx: Context) -> Prim:
    """Change an int to 0, -1, 1, a small negative, or a limit of an 8 to 64-bit integer.

    Two of three are small ones, which more calls accept.
    """
    return Prim("int", ctx.rng.choice(SMALL_INTEGERS if ctx.rng.chance(0.66) else LARGE_INTEGERS))


@mutator("Neighbour Integer", scalars("int"), boundary=True)
def neighbour_integer(value: Prim, ctx: Context) -> Prim:
    """Change an int by one, or to its negative or double: one step across the limit that it keeps to."""
    number = int(value.value)  # type: ignore[arg-type]
    near = {"one more": number + 1, "one less": number - 1, "negative": -number, "double": number * 2}
    return Prim("int", near[ctx.rng.choice(tuple(near))])


@mutator("Boundary Float", scalars("float"), boundary=True)
def boundary_float(value: Prim, ctx: Context) -> Prim:
    """Change a float to a zero of either sign, NaN, an infinity, a denormal, an epsilon or a largest number."""
    return Prim("float", ctx.rng.choice(FLOATS))


@mutator("Boundary Complex", scalars("complex"), boundary=True)
def boundary_complex(value: Prim, ctx: Context) -> Prim:
    """Replace a part or both parts of a complex number by a boundary float."""
    number = complex(value.value)  # type: ignore[arg-type]
    real = ctx.rng.choice(FLOATS)
    imaginary = number.imag if ctx.rng.chance(0.5) else ctx.rng.choice(FLOATS)
    return Prim("complex", complex(real, imaginary))


def draw_dtype(rng: Rng, dtype: str) -> str:
    """Return another dtype: seldom one that few libraries compute with, and never strings."""
    found = dtype
    while found == dtype:
        found = rng.choice(RARE_DTYPES if rng.chance(RARE_DTYPE_SHARE) else COMMON_DTYPES)
    return found


def cast(tensor: Tensor, dtype: str) -> Tensor:
    """Return the tensor with another dtype; recorded contents are converted, and only floating dtypes require grad."""
    old, new = DTYPES[tensor.dtype], DTYPES[dtype]
    fill = tensor.fill
    if fill.kind == "values" and old.storage != new.storage:
        data = _convert(fill.data, old.storage, new.storage)
        fill = Fill(key=fill.key) if data is None else fill._replace(data=data)
    return tensor._replace(dtype=dtype, fill=fill, requires_grad=tensor.requires_grad and new.floating)


@lru_cache(CONVERSIONS_KEPT)
def _convert(data: bytes, old: str, new: str) -> bytes | None:
    """Cast recorded contents; the same few are cast again and again."""
    if "object" in (old, new) or len(data) % np.dtype(old).itemsize:
        return None
    values = np.frombuffer(data, dtype=old)
    with np.errstate(all="ignore"):
        real = values.real if values.dtype.kind == "c" and not new.startswith("complex") else values
        return pack(real.astype(new))


def refill(tensor: Tensor, fill: Fill) -> Tensor:
    """Return the tensor with other contents; faster than `_replace`, and nearly every mutant needs it."""
    return Tensor(tensor.dtype, tensor.shape, fill, tensor.container, tensor.strides, tensor.requires_grad)


def uniform_fill(rng: Rng, low: float, high: float, special: float | None = None) -> Fill:
    """Return a fill drawn from a range, from a random window of the pool of elements."""
    return Fill("uniform", low, high, rng.below(POOL_SIZE), special=special)


def _sprinkle(tensor: Tensor, number: float, rng: Rng) -> Tensor:
    """Return the tensor with the number everywhere, or in every third element."""
    third = rng.chance(SPRINKLED_SHARE)
    return refill(tensor, tensor.fill._replace(special=number) if third else Fill("constant", number))


@mutator("Redrawn Contents", tensors(*NUMERIC))
def redrawn_contents(tensor: Tensor, ctx: Context) -> Tensor | None:
    """Draw the elements anew from their own range: as valid as before, and different every time.

    None if the tensor has no drawn elements, or the range is not finite.
    """
    fill = tensor.fill
    if fill.kind == "constant" or 0 in tensor.shape:
        return None
    ends = (fill.low, fill.high) if fill.kind == "uniform" else _range(fill.data, DTYPES[tensor.dtype].storage)
    if ends is None or not ends[0] < ends[1]:
        return None
    return refill(tensor, uniform_fill(ctx.rng, *ends, fill.special))


@lru_cache(RANGES_KEPT)
def _range(data: bytes, storage: str) -> tuple[float, float] | None:
    """Return the smallest and the largest recorded element; None if one is not finite, or there are none."""
    if not data or len(data) % np.dtype(storage).itemsize:
        return None
    flat = np.frombuffer(data, storage)
    parts = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
    ends = float(parts.min()), float(parts.max())
    return ends if all(map(isfinite, ends)) else None


@mutator("NaN Contents", tensors(*FLOATING), boundary=True)
def nan_contents(tensor: Tensor, ctx: Context) -> Tensor:
    """Return NaN everywhere, or in every third element."""
    return _sprinkle(tensor, NAN, ctx.rng)


@mutator("Infinity Contents", tensors(*FLOATING), boundary=True)
def infinity_contents(tensor: Tensor, ctx: Context) -> Tensor:
    """Infinity of either sign everywhere, or in every third element."""
    return _sprinkle(tensor, ctx.rng.choice((INFINITY, -INFINITY)), ctx.rng)


@mutator("Denormal Contents", tensors(*FLOATING), boundary=True)
def denormal_contents(tensor: Tensor, ctx: Context) -> Tensor:
    """Return the smallest denormal of the dtype everywhere, or in every third element."""
    return _sprinkle(tensor, DTYPES[tensor.dtype].denormal, ctx.rng)


@mutator("Negative Contents", tensors("int", *FLOATING), boundary=True)
def negative_contents(tensor: Tensor, ctx: Context) -> Tensor:
    """Negative numbers only, for dtypes that have them."""
    low = ctx.rng.choice((-1.0, -10.0, -100.0))
    return refill(tensor, uniform_fill(ctx.rng, low, -1.0 if ctx.rng.chance(0.3) else -1e-3))


@mutator("Zero Contents", tensors(*NUMERIC), boundary=True)
def zero_contents(tensor: Tensor, ctx: Context) -> Tensor:
    """Zeros; one floating tensor of four gets negative zeros."""
    negative = ctx.rng.chance(0.25) and DTYPES[tensor.dtype].floating
    return refill(tensor, Fill("constant", -0.0 if negative else 0.0))


@mutator("One Contents", tensors(*NUMERIC), boundary=True)
def one_contents(tensor: Tensor, ctx: Context) -> Tensor:
    """Ones: every label or index is the same, every product an identity."""
    return refill(tensor, Fill("constant", 1.0))


@mutator("Minus One Contents", tensors("int"), boundary=True)
def minus_one_contents(tensor: Tensor, ctx: Context) -> Tensor:
    """Minus one in an integer tensor: an index that some apis take from the end, and others not at all."""
    return refill(tensor, Fill("constant", -1.0))


@mutator("Large Index Contents", tensors("int", "uint"), boundary=True)
def large_index_contents(tensor: Tensor, ctx: Context) -> Tensor:
    """Integers far beyond any dimension, as far as the dtype goes: one everywhere, or drawn up to it."""
    top = ctx.rng.choice(_LARGE_INDICES)
    return refill(tensor, Fill("constant", top) if ctx.rng.chance(0.5) else uniform_fill(ctx.rng, 0.0, top))


@mutator("Extreme Contents", tensors(*NUMERIC), boundary=True)
def extreme_contents(tensor: Tensor, ctx: Context) -> Tensor:
    """Put the smallest or the largest number of the dtype everywhere, or in every third element."""
    highest = ctx.rng.chance(0.5)
    if DTYPES[tensor.dtype].floating:
        largest = DTYPES[tensor.dtype].largest
        return _sprinkle(tensor, largest if highest else -largest, ctx.rng)
    return refill(tensor, Fill("constant", float(integer_bounds(tensor.dtype)[highest])))
