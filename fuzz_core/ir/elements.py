"""Elements of described tensors, the same on every machine: worker, minimiser and script agree on them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.dtypes import DTYPES, DType, integer_bounds
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Fill, Tensor, TestCase

POOL_SIZE = 1 << 16
SPECIAL_STEP = 3
# No description has more elements in memory: the shape of an expanded tensor may be far larger than its storage.
MOST = 1 << 26
# Numbers below this bound overflow in no dtype, so no warning has to be silenced. To silence warnings costs more than
# to draw a few numbers.
_HARMLESS = 6e4


@cache
def unit_pool() -> NDArray[np.float64]:
    """Return 65,536 numbers in [0, 1) from one fixed stream.

    Draws are windows into it, because a new draw costs 10 times more.
    """
    return np.random.Generator(np.random.PCG64(20220521)).random(POOL_SIZE)


def window(key: int, size: int) -> NDArray[np.float64]:
    """Return `size` numbers in [0, 1) that begin where `key` says and wrap around."""
    start = key % POOL_SIZE
    if start + size <= POOL_SIZE:
        return unit_pool()[start : start + size]
    return repeated(np.roll(unit_pool(), -start), size)


def repeated(flat: NDArray[Any], count: int) -> NDArray[Any]:
    """Return a new array of `count` elements, `flat` over and over (np.resize joins one array per repetition)."""
    made = np.empty(count, flat.dtype)
    given = min(len(flat), count)
    made[:given] = flat[:given]
    while 0 < given < count:
        more = min(given, count - given)
        made[given : given + more] = made[:more]
        given += more
    return made


def is_vast(test: TestCase) -> bool:
    """Return whether a call has an expanded tensor that no memory holds: to read all its places takes seconds."""
    return any(tensor.size > MOST for tensor in tensors_of(test.invocation))


def elements(tensor: Tensor, size: int | None = None) -> NDArray[Any]:
    """Return the `size` (default: all) elements in row-major order, flat, in the dtype's storage type.

    The first elements are the same for each size.

    Raises:
        BuildError: the data does not fit the dtype.
        MemoryError: there are more than MOST elements.
    """
    count = tensor.size if size is None else size
    if count > MOST:
        raise MemoryError(f"{count} elements are more than {MOST}")
    dtype = DTYPES[tensor.dtype]
    fill = tensor.fill
    if fill.kind == "values":
        return _given(fill.data, dtype.storage, count)
    if dtype.kind == "string":
        return np.array([f"s{int(u * 100)}" for u in window(fill.key, count)], dtype=object)
    if fill.kind == "uniform" and count > POOL_SIZE:
        flat = repeated(_numbers(fill, tensor.dtype, POOL_SIZE), count)
    else:
        flat = _numbers(fill, tensor.dtype, count)
    if fill.special is not None and dtype.floating:
        with np.errstate(over="ignore"):
            flat[::SPECIAL_STEP] = fill.special
    return flat


def period(tensor: Tensor) -> NDArray[Any]:
    """Return the first elements, which the others repeat apart from special values.

    They are at most 65,536, or as many as the data has bytes.
    """
    return elements(tensor, min(tensor.size, max(POOL_SIZE, len(tensor.fill.data))))


def _given(data: bytes, storage: str, count: int) -> NDArray[Any]:
    if storage == "object":
        texts = data.decode("utf-8", "replace").split("\0")
        return np.array((texts * (count // len(texts) + 1))[:count], dtype=object)
    try:
        flat = np.frombuffer(data, dtype=storage)
    except ValueError as error:
        raise BuildError(f"tensor data does not fit {storage}: {error}") from error
    if len(flat) == 0 and count > 0:
        raise BuildError("tensor data is empty")
    return flat.copy() if len(flat) == count else repeated(flat, count)


def _numbers(fill: Fill, dtype_name: str, count: int) -> NDArray[Any]:
    dtype = DTYPES[dtype_name]
    if not dtype.floating:
        return _integers(fill, dtype_name, count)
    if -_HARMLESS < fill.low < _HARMLESS and -_HARMLESS < fill.high < _HARMLESS:
        return _reals(fill, dtype, count)
    with np.errstate(all="ignore"):
        return _reals(fill, dtype, count)


def _reals(fill: Fill, dtype: DType, count: int) -> NDArray[Any]:
    low, high = fill.low, fill.high
    if fill.kind == "constant":
        return np.full(count, low, dtype=dtype.storage)
    flat = _between(low, high, window(fill.key, count))
    if dtype.kind == "complex":
        flat = flat.astype(dtype.storage) + 1j * _between(low, high, window(fill.key + 1, count))
    return flat.astype(dtype.storage)


def _integers(fill: Fill, dtype_name: str, count: int) -> NDArray[Any]:
    storage = DTYPES[dtype_name].storage
    bottom, top = integer_bounds(dtype_name)
    first, last = sorted((_clip(fill.low, bottom, top), _clip(fill.high, bottom, top)))
    if fill.kind == "constant":
        return np.full(count, _clip(fill.low, bottom, top), dtype=storage)
    span = last - first + 1
    drawn = np.minimum(np.floor(window(fill.key, count) * float(span)), float(span - 1))
    if span < 1 << 52 and last < 1 << 63:
        return (drawn.astype(np.int64) + first).astype(storage)
    return np.array([min(first + int(u), last) for u in drawn], dtype=storage)


def _between(low: float, high: float, units: NDArray[np.float64]) -> NDArray[Any]:
    if high - low in (math.inf, -math.inf):
        # The width of a range may overflow where neither end does; half of it never.
        return 2 * (low / 2 + units * (high / 2 - low / 2))
    return low + units * (high - low)


def _clip(value: float, bottom: int, top: int) -> int:
    if value != value:
        return 0
    return int(max(bottom, min(top, value)))


def pack(values: NDArray[Any]) -> bytes:
    """Return elements as `Fill.data`: little-endian row-major bytes, or NUL-joined UTF-8 for strings."""
    if values.dtype == object:
        texts = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values.ravel()]
        return "\0".join(texts).encode("utf-8", "replace")
    return np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
