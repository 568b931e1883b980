"""Excuses by the size of a call's numbers."""

from __future__ import annotations

from math import inf, log

import numpy as np

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.tree import numbers_of, tensors_of
from fuzz_core.ir.values import TestCase
from fuzz_core.worker.evidence import Difference
from fuzz_core.worker.nearby import ROUNDINGS, Elements, largest_whole, moderated, rounded, scaled_down, scales

LARGEST_WHOLE = 2.0**31
# Powers of ten from this exponent on do not fit into float32. Lengths of dimensions are no exponents.
LARGEST_EXPONENT = 38
LARGEST_NUMBER = 10.0**LARGEST_EXPONENT
LEAST_SCALE, LARGEST_SCALE = 1e-6, 1e6
# A square of such a number overflows single precision; one rounding of it in double precision is above a thousand.
HUGE = DTYPES["float32"].largest ** 0.5
# A difference of more roundings of the largest input comes from smaller elements, which the scaled call loses.
ROUNDED = 100.0
# A number has no digit if a few roundings of the input move it by more than this share of its size.
NO_DIGIT = 0.5
# The product of five numbers below this power of the least normal one may vanish.
UNDERFLOW = 0.2


def is_badly_scaled(found: Difference) -> bool:
    """Return whether a number is far from 1, so that an infinity of its dtype is no surprise."""
    case, least = found.case, LEAST_SCALE
    most = min([LARGEST_SCALE, *(largest**0.125 for *_, largest in scales(case))])
    return (
        any(not high < most or 0 < low < least for low, high, *_ in scales(case))
        or largest_whole(case) > most
        or any(not size < LARGEST_EXPONENT or 0 < size < DTYPES["float32"].normal for size in sizes(case))
    )


def power_overflows(found: Difference) -> bool:
    """Return whether an element, to the power of a number, is more than its dtype holds."""
    case = found.case
    pairs = [(log(high), log(most)) for _, high, _, most in scales(case) if high > 1]
    return any(size * high > most for size in sizes(case) for high, most in pairs)


def rounds_beyond_integers(found: Difference) -> bool:
    """Return whether real numbers beyond 32 bits become integers."""
    return any(not high < LARGEST_WHOLE for _, high, *_ in scales(found.case)) and found.is_whole


def has_no_digit(found: Difference) -> bool:
    """Return whether rounding the input moves each number that only double precision has about as far as its size.

    A matrix is singular to its own precision, if the inverse in double precision is a matter of rounding.
    """
    plain, precise = (found.adapter.comparer.arrays(each) for each in (found.reference, found.result))
    near = [found.run(rounded(found.case, roundings), found.mode) for roundings in ROUNDINGS]
    moved = [found.adapter.comparer.arrays(each[0]) for each in near if each]
    return bool(moved) and all(
        _has_no_digit(own, wide, [each[place] for each in moved if len(each) > place])
        for place, (own, wide) in enumerate(zip(plain, precise, strict=False))
        if own is not None and wide is not None and own.shape == wide.shape
    )


def _has_no_digit(plain: Elements, precise: Elements, near: list[Elements | None]) -> bool:
    with np.errstate(all="ignore"):
        alone = np.isfinite(precise) & ~np.isfinite(plain.astype(np.complex128))
        apart = [np.abs(each - precise) for each in near if each is not None and each.shape == precise.shape]
        far = np.max([np.nan_to_num(each, nan=inf) for each in apart], axis=0, initial=0.0)
        return bool(np.all(~alone | (far > NO_DIGIT * np.abs(precise))))


def squares_overflow(found: Difference) -> bool:
    """Return whether an infinite error may come from a square or a power of an element that overflows."""
    case = found.case
    squares = any(high > most**0.5 for _, high, _, most in scales(case))
    return found.has_reference and found.errors[0] == inf and (squares or power_overflows(found))


def underflows(found: Difference) -> bool:
    """Return whether the modes agree on larger numbers: libraries do not promise how small numbers become."""
    small = any(0 < low < tiny**UNDERFLOW for low, _, tiny, _ in scales(found.case))
    return small and found.agree(moderated(found.case)) is True


def differs_by_scale(found: Difference) -> bool:
    """Return whether the modes differ in real numbers alone, and agree once huge inputs are scaled down to 1.

    Roundings of huge numbers are huge themselves, and one formula multiplies them by more than another.
    """
    highest = max((high for _, high, *_ in scales(found.case)), default=0.0)
    if found.is_whole or not HUGE <= highest < inf:
        return False
    coarsest = max(DTYPES[tensor.dtype].epsilon for tensor in tensors_of(found.case.invocation))
    return _gap(found) <= ROUNDED * coarsest * highest and found.agree(scaled_down(found.case)) is True


def _gap(found: Difference) -> float:
    """Return the largest distance between two elements; infinity if one is no number."""
    sides = (found.adapter.comparer.arrays(each) for each in (found.reference, found.result))
    pairs = [(a, b) for a, b in zip(*sides, strict=False) if a is not None and b is not None]
    with np.errstate(all="ignore"):
        apart = [np.abs(a.astype(np.complex128) - b.astype(np.complex128)).max(initial=0.0) for a, b in pairs]
    return max((inf if np.isnan(each) else float(each) for each in apart), default=inf)


def sizes(case: TestCase) -> list[float]:
    """Return the magnitudes of the scalar numbers that are not a length of some dimension."""
    lengths = {length for tensor in tensors_of(case.invocation) for length in tensor.shape}
    return [abs(number) for number in numbers_of(case.invocation) if abs(number) not in lengths]
