"""How large the numbers in a test case are."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from fuzz_core.ir.drawing import elements
from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.tree import numbers_of, tensors_of
from fuzz_core.ir.values import Tensor, TestCase


def scales(test: TestCase) -> Iterator[tuple[float, float, float]]:
    """The least magnitude that is not zero, the largest, and the least normal one, of each floating-point tensor."""
    for tensor in _floating(test):
        sizes = np.abs(elements(tensor).astype(np.complex128))
        least = sizes[sizes > 0].min(initial=inf)
        yield float(least), float(np.nan_to_num(sizes, nan=inf, posinf=inf).max()), DTYPES[tensor.dtype].normal


def has_nan(test: TestCase) -> bool:
    """Whether an element or a number is NaN."""
    return any(number != number for number in numbers_of(test.invocation)) or any(
        bool(np.isnan(elements(tensor)).any()) for tensor in _floating(test)
    )


def largest(test: TestCase) -> Iterator[float]:
    """The largest number of the dtype of each floating-point tensor that has elements."""
    return (DTYPES[tensor.dtype].largest for tensor in _floating(test))


def _floating(test: TestCase) -> Iterator[Tensor]:
    return (t for t in tensors_of(test.invocation) if DTYPES[t.dtype].floating and t.size)


def largest_whole(test: TestCase) -> int:
    """The largest magnitude among integers in tensors."""
    kinds = ("int", "uint")
    whole = [t for t in tensors_of(test.invocation) if DTYPES[t.dtype].kind in kinds and t.size]
    return max((max(abs(int(e.min())), abs(int(e.max()))) for e in map(elements, whole)), default=0)


def overflows(test: TestCase) -> bool:
    """Whether an integer does not fit into the narrowest integer dtype beside it: conversions wrap as they like."""
    kinds = ("int", "uint")
    dtypes = {t.dtype for t in tensors_of(test.invocation) if DTYPES[t.dtype].kind in kinds}
    if not dtypes:
        return False
    scalars = [abs(number) for number in numbers_of(test.invocation) if isinstance(number, int)]
    return max([largest_whole(test), *scalars]) > min(integer_bounds(dtype)[1] + 1 for dtype in dtypes)


def magnitudes(test: TestCase) -> Iterator[float]:
    """The largest of each floating-point tensor, and the numbers'."""
    yield from (high for _, high, _ in scales(test))
    yield from map(abs, numbers_of(test.invocation))


def is_complex(test: TestCase) -> bool:
    """Whether there is a complex number or tensor."""
    scalars = any(isinstance(number, complex) for number in numbers_of(test.invocation))
    return scalars or any(DTYPES[tensor.dtype].kind == "complex" for tensor in tensors_of(test.invocation))
