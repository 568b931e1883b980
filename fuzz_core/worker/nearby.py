"""The sizes of numbers in a test case, and similar calls: the same except for elements that must not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.dtypes import DTYPES, double_of, integer_bounds
from fuzz_core.ir.elements import elements, pack
from fuzz_core.ir.tree import numbers_of, rewritten, tensors_of, with_tensors
from fuzz_core.ir.values import Fill, Prim, Tensor, TestCase, Value, prim

# A number this far from a kink is not affected by it in a difference quotient.
ASIDE = 1e-3
# A share of ASIDE: a derivative that changes by more than its tolerance is amplified a thousand times.
NUDGE = 1e-3
# Inputs this many roundings off show how far rounding alone moves a result.
ROUNDINGS = (1, -1, 2, -2, 3, -3)
# A product of eight numbers of these magnitudes neither overflows nor vanishes in single precision.
LEAST, LARGEST = 2.0**-12, 2.0**12
# From this number on, neighbours in single precision are a quarter apart or more.
CROWDED = 2.0**21
FLOATING, INTEGER = ("float", "complex"), ("int", "uint")
WHOLE = (*INTEGER, "bool")

Elements = NDArray[Any]


def aside(test: TestCase) -> TestCase:
    """Return the call with every real number a little off, by its place: ties and kinks are gone.

    A tiny number moves away from zero as far as zero does: to a difference quotient, tiny numbers are one.
    In single precision where that is more than there is: else equal ones would be rounded to equal ones.
    """

    def moved(drawn: Elements) -> Elements:
        places = _places(drawn)
        away = np.where(drawn == 0, places, np.copysign(places, drawn))
        return np.where(np.abs(drawn) < ASIDE, drawn + away, drawn * (1 + places))

    return _changed(test, moved, "float32")


def nudged(test: TestCase) -> TestCase:
    """Return the call with every real number, in double precision, off by less than matters to a derivative."""
    return _changed(test, lambda drawn: drawn * (1 + NUDGE * _places(drawn)), "float64")


def rounded(test: TestCase, roundings: int) -> TestCase:
    """Return the call with every real number so many roundings of its dtype off, up or down by its place."""
    seen = count()

    def of(tensor: Tensor) -> Tensor:
        dtype = DTYPES[tensor.dtype]
        if dtype.kind != "float" or not tensor.size:
            return tensor
        signs = np.where(np.cos(abs(roundings) + 2.4 * np.arange(tensor.size) + next(seen)) < 0, -1, 1)
        with np.errstate(all="ignore"):
            # The epsilon of a number is at least the distance to its neighbours, so the number always moves.
            moved = elements(tensor).astype(np.float64) * (1 + roundings * dtype.epsilon * signs)
            return tensor._replace(fill=Fill("values", data=pack(moved.astype(dtype.storage))))

    return _with(test, of)


def with_rounded_scalars(test: TestCase, roundings: int) -> TestCase:
    """Return the call with each scalar close to its neighbours in single precision moved by so many roundings."""

    def of(value: Value) -> Value:
        number = value.value if isinstance(value, Prim) else None
        if not isinstance(number, int | float) or not CROWDED <= abs(number) < inf:
            return value
        moved = number * (1 + roundings * DTYPES["float32"].epsilon)
        return prim(int(moved) if isinstance(number, int) else moved)

    return test._replace(invocation=rewritten(test.invocation, of))


def with_single_scalars(test: TestCase) -> TestCase:
    """Return the call with each number replaced by the nearest one that single precision holds."""

    def of(value: Value) -> Value:
        number = value.value if isinstance(value, Prim) else None
        if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) < inf:
            return value
        held = DTYPES["float32"].rounded(number)
        return prim(type(number)(held)) if abs(held) < inf else value

    return test._replace(invocation=rewritten(test.invocation, of))


def wrapped(test: TestCase) -> TestCase:
    """Return the call with each integer beyond 32 bits replaced by its lowest 32 bits, with their sign."""

    def of(value: Value) -> Value:
        number = value.value if isinstance(value, Prim) else None
        if type(number) is not int or -(1 << 31) <= number < 1 << 31:
            return value
        return prim((number + (1 << 31)) % (1 << 32) - (1 << 31))

    return test._replace(invocation=rewritten(test.invocation, of))


def widened(test: TestCase) -> TestCase:
    """Return the call with every real number in double precision."""
    return _changed(test, lambda drawn: drawn, "float64")


def floated(test: TestCase) -> TestCase:
    """Return the call with every tensor of integers as one of real numbers in single precision."""

    def of(tensor: Tensor) -> Tensor:
        if DTYPES[tensor.dtype].kind not in INTEGER or not tensor.size:
            return tensor
        return tensor._replace(dtype="float32", fill=Fill("values", data=pack(elements(tensor).astype(np.float32))))

    return _with(test, of)


def moderated(test: TestCase) -> TestCase:
    """Return the call with every real number but zero between LEAST and LARGEST in magnitude."""
    return _changed(test, lambda drawn: np.sign(drawn) * np.clip(np.abs(drawn), LEAST, LARGEST))


def scaled_down(test: TestCase) -> TestCase:
    """Return the call with the real numbers of each tensor over a power of two that leaves the largest below 2."""

    def scaled(drawn: Elements) -> Elements:
        sizes = np.abs(drawn[np.isfinite(drawn)])
        return np.ldexp(drawn, -int(np.frexp(sizes.max(initial=1.0))[1]) + 1)

    return _changed(test, scaled)


def without_ties(test: TestCase) -> TestCase:
    """Return the call with ranks for integers in tensors; equal elements get different ranks, in order.

    The ranks have 64 bits if the dtype does not have so many numbers.
    """

    def ranked(tensor: Tensor) -> Tensor:
        if DTYPES[tensor.dtype].kind not in WHOLE or not tensor.size:
            return tensor
        ranks = np.argsort(np.argsort(elements(tensor), kind="stable"), kind="stable")
        dtype = tensor.dtype if tensor.size <= integer_bounds(tensor.dtype)[1] + 1 else "int64"
        return tensor._replace(dtype=dtype, fill=Fill("values", data=pack(ranks.astype(DTYPES[dtype].storage))))

    return _with(test, ranked)


def grown(test: TestCase) -> TestCase:
    """Return the call with every empty dimension of length one: the library then looks at all arguments."""

    def of(tensor: Tensor) -> Tensor:
        shape = tuple(max(length, 1) for length in tensor.shape)
        return tensor if tensor.size else tensor._replace(shape=shape, fill=Fill())

    return _with(test, of)


def with_valid_indices(test: TestCase) -> Iterator[TestCase]:
    """Yield the call with the integers of one tensor moved within the indices of one length, if some are beyond.

    The lengths are those of tensors of real numbers. The longest comes first, so that few elements change.
    """
    lengths = {length for tensor in _filled(test) for length in tensor.shape}
    for place, tensor in enumerate(tensors_of(test.invocation)):
        if DTYPES[tensor.dtype].kind not in INTEGER or not tensor.size:
            continue
        drawn = elements(tensor)
        for length in sorted(lengths, reverse=True):
            inside = np.clip(drawn, 0, length - 1)
            if (inside != drawn).any():
                made = tensor._replace(fill=Fill("values", data=pack(inside.astype(drawn.dtype))))
                yield _exchanged(test, place, made)


def with_distinct_indices(test: TestCase) -> Iterator[TestCase]:
    """Yield the call with different indices in the place of those of one tensor of integers, if some are equal.

    An index is an element, or a row with an index for each of the first dimensions of a tensor of real numbers.
    """
    shapes = dict.fromkeys(tensor.shape for tensor in _filled(test))
    for place, tensor in enumerate(tensors_of(test.invocation)):
        if DTYPES[tensor.dtype].kind not in INTEGER or not tensor.size or not tensor.shape:
            continue
        drawn = elements(tensor)
        for depth in dict.fromkeys((tensor.shape[-1], 1)):
            rows = drawn.reshape(-1, depth)
            for shape in (each[:depth] for each in shapes if len(np.unique(rows, axis=0)) < len(rows)):
                if len(shape) == depth and len(rows) <= np.prod(shape):
                    made = np.stack(np.unravel_index(np.arange(len(rows)), shape), -1).astype(drawn.dtype)
                    yield _exchanged(test, place, tensor._replace(fill=Fill("values", data=pack(made.reshape(-1)))))


def with_members(test: TestCase, members: Sequence[float]) -> Iterator[TestCase]:
    """Yield the call with each element of one tensor, but the first tensor, as the nearest member of a set."""
    for place, tensor in enumerate(tensors_of(test.invocation)):
        dtype = DTYPES[tensor.dtype]
        if not place or dtype.kind not in ("float", *INTEGER) or not tensor.size:
            continue
        drawn = elements(tensor).astype(np.float64)
        apart = np.abs(np.nan_to_num(drawn)[..., None] - np.array(members))
        nearest = np.array(members)[apart.argmin(-1)]
        if (nearest != drawn).any():
            yield _exchanged(
                test, place, tensor._replace(fill=Fill("values", data=pack(nearest.astype(dtype.storage))))
            )


def _exchanged(test: TestCase, place: int, made: Tensor) -> TestCase:
    seen = count()
    return _with(test, lambda tensor: made if next(seen) == place else tensor)


def has_ties(test: TestCase) -> bool:
    """Return whether a tensor of integers has equal elements."""
    return any(len(np.unique(elements(tensor))) < tensor.size for tensor in _filled(test, WHOLE))


def _changed(test: TestCase, change: Callable[[Elements], Elements], least: str = "") -> TestCase:
    def of(tensor: Tensor) -> Tensor:
        dtype = DTYPES[tensor.dtype]
        if dtype.kind != "float" or not tensor.size:
            return tensor
        name = least if least and DTYPES[least].bits > dtype.bits else tensor.dtype
        with np.errstate(all="ignore"):
            made = change(elements(tensor).astype(np.float64))
            return tensor._replace(dtype=name, fill=Fill("values", data=pack(made.astype(DTYPES[name].storage))))

    return _with(test, of)


def _with(test: TestCase, change: Callable[[Tensor], Tensor]) -> TestCase:
    return test._replace(invocation=with_tensors(test.invocation, change))


def _filled(test: TestCase, kinds: Sequence[str] = FLOATING) -> Iterator[Tensor]:
    """Return the tensors of some kinds of dtypes that have elements."""
    return (t for t in tensors_of(test.invocation) if DTYPES[t.dtype].kind in kinds and t.size)


def _places(drawn: Elements) -> Elements:
    """Return a number between -ASIDE and ASIDE for each element.

    Multiples of the golden ratio keep apart: even of many thousand numbers, no two are equal in single precision.
    """
    turned: Elements = 2 * ((0.77 + (np.sqrt(5) - 1) / 2 * np.arange(drawn.size)) % 1.0) - 1
    return ASIDE * turned


def scales(test: TestCase) -> Iterator[tuple[float, float, float, float]]:
    """Yield four magnitudes of each floating-point tensor that has elements.

    The first two are the least magnitude above zero, and the largest. The last two are the least normal number of its
    dtype, and the largest; infinity for doubles. An overflow excuses a difference from the reference in double
    precision. A double that overflows does so there, too.
    """
    for tensor in _filled(test):
        dtype, sizes = DTYPES[tensor.dtype], np.abs(elements(tensor).astype(np.complex128))
        most = inf if double_of(tensor.dtype) == tensor.dtype else dtype.largest
        yield (
            float(sizes[sizes > 0].min(initial=inf)),
            float(np.nan_to_num(sizes, nan=inf, posinf=inf).max()),
            dtype.normal,
            most,
        )


def has_nan(test: TestCase) -> bool:
    """Return whether an element or a number is NaN."""
    return any(number != number for number in numbers_of(test.invocation)) or any(
        bool(np.isnan(elements(tensor)).any()) for tensor in _filled(test)
    )


def largest_whole(test: TestCase) -> int:
    """Return the largest magnitude among integers in tensors."""
    drawn = map(elements, _filled(test, INTEGER))
    return max((max(abs(int(each.min())), abs(int(each.max()))) for each in drawn), default=0)


def overflows(test: TestCase) -> bool:
    """Return whether an integer does not fit into the narrowest integer dtype of the call: conversions differ."""
    dtypes = [t.dtype for t in tensors_of(test.invocation) if DTYPES[t.dtype].kind in INTEGER]
    scalars = [abs(number) for number in numbers_of(test.invocation) if isinstance(number, int)]
    return max([largest_whole(test), *scalars]) > min((integer_bounds(dtype)[1] + 1 for dtype in dtypes), default=inf)


def magnitudes(test: TestCase) -> Iterator[float]:
    """Yield the largest magnitude of each floating-point tensor, then the magnitudes of the numbers."""
    yield from (high for _, high, *_ in scales(test))
    yield from map(abs, numbers_of(test.invocation))


def is_complex(test: TestCase) -> bool:
    """Return whether there is a complex number or tensor."""
    scalars = any(isinstance(number, complex) for number in numbers_of(test.invocation))
    return scalars or any(DTYPES[tensor.dtype].kind == "complex" for tensor in tensors_of(test.invocation))
