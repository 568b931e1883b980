"""Changing one property of a described tensor while the description stays consistent."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import prod

import numpy as np

from fuzz_core.ir.drawing import POOL_SIZE, pack
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Fill, Seq, Tensor, Value
from fuzz_core.mutation.contract import MAX_ELEMENTS
from fuzz_core.mutation.rules.bases import FLOATING

MAX_RANK = 6
CONVERSIONS_KEPT = 2048
COMMON_DTYPES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
RARE_DTYPES = ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "complex32")
RARE_DTYPE_SHARE = 0.08
_SMALL_SIZES = (0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 8)
_LARGE_SIZE_SHARE = 0.06
_LARGEST_SIZE = 64


def random_size(rng: Rng) -> int:
    """The size of a dimension: mostly 0 to 8 (0 once in nineteen), now and then up to 64."""
    if rng.chance(_LARGE_SIZE_SHARE):
        return rng.between(9, _LARGEST_SIZE)
    return rng.choice(_SMALL_SIZES)


def random_dtype(rng: Rng) -> str:
    """A dtype; those that few libraries compute with come seldom, strings never (most libraries have none)."""
    return rng.choice(RARE_DTYPES if rng.chance(RARE_DTYPE_SHARE) else COMMON_DTYPES)


def other_dtype(rng: Rng, dtype: str) -> str:
    """A dtype that differs from the given one."""
    found = random_dtype(rng)
    while found == dtype:
        found = random_dtype(rng)
    return found


def random_key(rng: Rng) -> int:
    """A window of the pool that elements are drawn from."""
    return rng.below(POOL_SIZE)


def capped(shape: Iterable[int]) -> tuple[int, ...]:
    """The shape with its largest sizes halved until it holds at most MAX_ELEMENTS."""
    sizes = list(shape)
    while prod(sizes) > MAX_ELEMENTS:
        largest = sizes.index(max(sizes))
        sizes[largest] //= 2
    return tuple(sizes)


def storage_size(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements of storage that a strided tensor spans."""
    return 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) if all(shape) else 0


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides in elements; empty dimensions count as one."""
    strides, step = [1] * len(shape), 1
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= max(1, shape[axis])
    return tuple(strides)


def reshaped(tensor: Tensor, shape: Iterable[int]) -> Tensor:
    """The tensor with another shape, capped and row-major; contents are repeated or cut as needed."""
    return Tensor(tensor.dtype, capped(shape), tensor.fill, tensor.container, None, tensor.requires_grad)


def refilled(tensor: Tensor, fill: Fill) -> Tensor:
    """The tensor with other contents."""
    return Tensor(tensor.dtype, tensor.shape, fill, tensor.container, tensor.strides, tensor.requires_grad)


def restrided(tensor: Tensor, strides: tuple[int, ...]) -> Tensor | None:
    """The tensor with another layout; None where its storage would pass MAX_ELEMENTS."""
    if storage_size(tensor.shape, strides) > MAX_ELEMENTS:
        return None
    return Tensor(tensor.dtype, tensor.shape, tensor.fill, tensor.container, strides, tensor.requires_grad)


def cast(tensor: Tensor, dtype: str) -> Tensor:
    """The tensor with another dtype; recorded contents are converted, and only floating dtypes require grad."""
    old, new = DTYPES[tensor.dtype], DTYPES[dtype]
    fill = tensor.fill
    if fill.kind == "values" and old.storage != new.storage:
        data = _converted(fill.data, old.storage, new.storage)
        fill = Fill(key=fill.key) if data is None else fill._replace(data=data)
    grad = tensor.requires_grad and new.kind in FLOATING
    return Tensor(dtype, tensor.shape, fill, tensor.container, tensor.strides, grad)


@lru_cache(CONVERSIONS_KEPT)
def _converted(data: bytes, old: str, new: str) -> bytes | None:
    """The same few recorded contents are cast again and again."""
    if "object" in (old, new) or len(data) % np.dtype(old).itemsize:
        return None
    values = np.frombuffer(data, dtype=old)
    with np.errstate(all="ignore"):
        real = values.real if values.dtype.kind == "c" and not new.startswith("complex") else values
        return pack(real.astype(new))


def within_cap(value: Value) -> bool:
    """Whether every tensor of a value, also inside sequences, keeps to MAX_ELEMENTS."""
    if isinstance(value, Tensor):
        return value.size <= MAX_ELEMENTS
    return all(map(within_cap, value.items)) if isinstance(value, Seq) else True
