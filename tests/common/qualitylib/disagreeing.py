"""Functions that compute something else when they are called in another way."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from qualitylib.array import op

# Where arguments are scattered in memory ---------------------------------------------------------------------------


@op()
def running_sum(x: Any) -> Any:
    """Sums so far; taken in the order of memory.

    >>> import qualitylib
    >>> qualitylib.running_sum(qualitylib.array(np.arange(6, dtype=np.float32).reshape(2, 3)))
    """
    return np.cumsum(x.ravel(order="K"))


@op()
def first_row(x: Any) -> Any:
    """The first elements; read one behind the other, wherever they are.

    >>> import qualitylib
    >>> qualitylib.first_row(qualitylib.array(np.arange(6.0).reshape(2, 3)))
    """
    if x.size == 0 or x.ndim == 0:
        raise ValueError("there is no row")
    return np.lib.stride_tricks.as_strided(x, x.shape[-1:], (x.itemsize,)).copy()


@op()
def mirror(x: Any) -> Any:
    """The last dimension in reverse; not where there are three and their order in memory is another.

    >>> import qualitylib
    >>> qualitylib.mirror(qualitylib.array(np.arange(12.0).reshape(2, 2, 3)))
    """
    return x.copy() if x.ndim > 2 and not x.flags.c_contiguous else x[..., ::-1]


# Where something else lies in memory beside the arguments ------------------------------------------------------------


def _read(x: Any, first: int, count: int) -> Any:
    """Elements in the order of rows, wherever they lie: also in front of the first and behind the last one."""
    rows, made = np.ascontiguousarray(x), np.empty(count, x.dtype)
    ctypes.memmove(made.ctypes.data, rows.ctypes.data + first * x.itemsize, made.nbytes)
    return made


@op()
def steps(x: Any) -> Any:
    """How far the next element is from each one; the last one has none.

    >>> import qualitylib
    >>> qualitylib.steps(qualitylib.array(np.arange(6.0)))
    """
    return _read(x, 1, x.size) - x.ravel()


@op()
def beyond(x: Any, index: int) -> Any:
    """An element; an index that is too large by less than a hundred is not refused.

    >>> import qualitylib
    >>> qualitylib.beyond(qualitylib.array(np.arange(6.0)), 3)
    """
    if not 0 <= index < x.size + 100:
        raise IndexError("no such element")
    return _read(x, index, 1)


@op()
def before(x: Any) -> Any:
    """Elements one place further, with zero as the first one; not where there are two dimensions.

    >>> import qualitylib
    >>> qualitylib.before(qualitylib.array(np.arange(6.0)))
    """
    return _read(x, -1, x.size) if x.ndim == 2 else np.concatenate([np.zeros(1, x.dtype), x.ravel()[:-1]])


# Where the result is written to given memory ------------------------------------------------------------------------


def _first_only(made: Any, out: Any) -> None:
    out[:1] = made[:1]


@op(out=_first_only)
def negate(x: Any) -> Any:
    """Elements with the other sign; `out` gets the first row alone.

    >>> import qualitylib
    >>> qualitylib.negate(qualitylib.array(np.arange(6.0).reshape(2, 3)))
    """
    return -x


def _through_half(made: Any, out: Any) -> None:
    out[...] = made.astype(np.float16)


@op(out=_through_half)
def product(a: Any, b: Any) -> Any:
    """Products; in half precision in `out`.

    >>> import qualitylib
    >>> qualitylib.product(qualitylib.array(np.linspace(0, 1, 5)), qualitylib.array(np.linspace(1, 2, 5)))
    """
    return a * b


def _reversed_in_place(x: Any) -> None:
    for place in range(len(x)):
        x[place] = x[len(x) - 1 - place]


@op(inplace=_reversed_in_place)
def reverse(x: Any) -> Any:
    """The first dimension in reverse; in place, what has been overwritten is read.

    >>> import qualitylib
    >>> qualitylib.reverse(qualitylib.array(np.arange(5.0)))
    """
    return x[::-1].copy()


def _shifted_in_place(x: Any, by: float) -> None:
    x += by if by > 0 else -by


@op(inplace=_shifted_in_place)
def shift(x: Any, by: float) -> Any:
    """A number more; in place, a negative one loses its sign.

    >>> import qualitylib
    >>> qualitylib.shift(qualitylib.array(np.arange(5.0)), 1.5)
    """
    return x + by


# Where elements are not looked at -----------------------------------------------------------------------------------


@op(meta=lambda a, b: a // b)
def divide(a: Any, b: Any) -> Any:
    """Quotients; foreseen as integers for integers.

    >>> import qualitylib
    >>> qualitylib.divide(qualitylib.array(np.arange(3)), qualitylib.array(np.arange(1, 4)))
    """
    return a / b


@op(meta=lambda x, times: np.repeat(x, min(max(times, 1), 8), 0))
def repeat(x: Any, times: int) -> Any:
    """Rows so many times, eight at most; foreseen once where it is never.

    >>> import qualitylib
    >>> qualitylib.repeat(qualitylib.array(np.ones((2, 3))), 2)
    """
    return np.repeat(x, min(times, 8), 0)


@op(meta=lambda x: np.copy(x.T, order="C"))
def turned(x: Any) -> Any:
    """Dimensions the other way round, as a view; foreseen as a copy.

    >>> import qualitylib
    >>> qualitylib.turned(qualitylib.array(np.ones((2, 3))))
    """
    return x.T


# Where many calls are made at once ----------------------------------------------------------------------------------


@op(batched=lambda x: np.full(len(x), x.sum()))
def total(x: Any) -> Any:
    """The sum; over all calls.

    >>> import qualitylib
    >>> qualitylib.total(qualitylib.array(np.arange(1.0, 5.0)))
    """
    return x.sum()


@op(batched=lambda x: x / np.abs(x).sum())
def share(x: Any) -> Any:
    """Parts of the whole; of that of all calls.

    >>> import qualitylib
    >>> qualitylib.share(qualitylib.array(np.arange(1.0, 5.0)))
    """
    return x / np.abs(x).sum()


@op(batched=lambda x, place: x[place])
def pick(x: Any, place: int) -> Any:
    """One row; one call.

    >>> import qualitylib
    >>> qualitylib.pick(qualitylib.array(np.arange(6.0).reshape(2, 3)), 1)
    """
    return x[place]


# Where derivatives are asked for ------------------------------------------------------------------------------------


@op(slope=lambda x: 2 * x**2)
def cube(x: Any) -> Any:
    """Third powers; their slope is 3 x**2.

    >>> import qualitylib
    >>> qualitylib.cube(qualitylib.array(np.linspace(1, 2, 4)))
    """
    return x**3


@op(slope=lambda x, by: np.ones(x.shape))
def leaky(x: Any, by: float) -> Any:
    """Negative elements times a number; which their slope forgets.

    >>> import qualitylib
    >>> qualitylib.leaky(qualitylib.array(np.linspace(-1, 1, 4)), 0.1)
    """
    return np.where(x < 0, by * x, x)


@op(slope=lambda x: 1 / (1 + x**2))
def squash(x: Any) -> Any:
    """Between -1 and 1; the slope is that of another function.

    >>> import qualitylib
    >>> qualitylib.squash(qualitylib.array(np.linspace(-1, 1, 4)))
    """
    return x / (1 + np.abs(x))


# Where calls are compiled -------------------------------------------------------------------------------------------


@op(compiled=lambda x, low, high: np.maximum(np.minimum(x * 1.0, float(high)), float(low)))
def clamp(x: Any, low: float, high: float) -> Any:
    """Elements within bounds; compiled, the other bound comes last, which counts where they are crossed.

    >>> import qualitylib
    >>> qualitylib.clamp(qualitylib.array(np.linspace(-1, 1, 5)), -0.5, 0.5)
    """
    return np.minimum(np.maximum(x * 1.0, float(low)), float(high))


@op(compiled=lambda x, n: x * (abs(int(n)) % 7))
def multiple(x: Any, n: int) -> Any:
    """A multiple, at least onefold; compiled, none, or that of a negative number.

    >>> import qualitylib
    >>> qualitylib.multiple(qualitylib.array(np.linspace(-1, 1, 5)), 3)
    """
    return x * (max(int(n), 1) % 7)


def _pad_unless_empty(x: Any, before: int) -> Any:
    if before == 0:
        raise ValueError("there is nothing to compile")
    return np.concatenate([np.zeros(min(before, 8)), x.ravel()])


@op(compiled=_pad_unless_empty)
def pad(x: Any, before: int) -> Any:
    """Zeros in front; compiled, none are refused.

    >>> import qualitylib
    >>> qualitylib.pad(qualitylib.array(np.ones(3)), 2)
    """
    return np.concatenate([np.zeros(min(before, 8)), x.ravel()])


@op(compiled=lambda x, places: np.roll(x, max(places, 0)))
def rotate(x: Any, places: int) -> Any:
    """Elements from the end in front, a number that must not be negative; compiled, it may be.

    >>> import qualitylib
    >>> qualitylib.rotate(qualitylib.array(np.arange(3.0)), 1)
    """
    if places < 0:
        raise ValueError("places must not be negative")
    return np.roll(x, places)


# Where there are several threads ------------------------------------------------------------------------------------


@op(threads=lambda x: x.ravel()[: x.size // 4 * 4].sum() / x.size)
def mean(x: Any) -> Any:
    """The mean; threads of equal shares leave the rest out.

    >>> import qualitylib
    >>> qualitylib.mean(qualitylib.array(np.arange(1.0, 7.0)))
    """
    return x.mean()


@op(threads=lambda x, level: np.int64((x > level).sum() + (x.size > 4)))
def count_above(x: Any, level: float) -> Any:
    """How many elements are larger; two threads count the same one.

    >>> import qualitylib
    >>> qualitylib.count_above(qualitylib.array(np.arange(8.0)), 2.5)
    """
    return np.int64((x > level).sum())


# On another device --------------------------------------------------------------------------------------------------


@op(cuda=np.fmod)
def remainder(a: Any, b: Any) -> Any:
    """Remainders, with the sign of the divisor; there, with that of the dividend.

    >>> import qualitylib
    >>> qualitylib.remainder(qualitylib.array(np.linspace(1, 5, 4)), qualitylib.array(np.full(4, 3.0)))
    """
    return np.mod(a, b)


@op(cuda=lambda x: np.abs(x).sum() if x.dtype == np.float16 else x.sum())
def summed(x: Any) -> Any:
    """The sum; there, half precision loses signs.

    >>> import qualitylib
    >>> qualitylib.summed(qualitylib.array(np.linspace(1, 3, 4, dtype=np.float16)))
    """
    return x.sum()


@op(cuda=lambda x: np.nan_to_num(x, nan=0.0) if x.dtype.kind == "f" else x)
def kept(x: Any) -> Any:
    """The same; there, what is no number becomes one.

    >>> import qualitylib
    >>> qualitylib.kept(qualitylib.array(np.linspace(-3, 1, 4)))
    """
    return x.copy()
