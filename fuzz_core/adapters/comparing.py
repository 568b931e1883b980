"""Whether two results agree, by a library's tolerances: what every library can share once its results are arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, isclose, isnan
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Pair = tuple[Array, Array]
Leaves = Callable[[Any], list[Array | None]]


class Tolerance(NamedTuple):
    """How far an element may be off: `absolute + relative * |expected|`."""

    relative: float
    absolute: float


# Those of `torch.testing`; other dtypes by the last.
TOLERANCES: Mapping[str, Tolerance] = {
    "float8_e4m3fn": Tolerance(0.13, 0.13),
    "float8_e5m2": Tolerance(0.26, 0.26),
    "float16": Tolerance(1e-3, 1e-5),
    "bfloat16": Tolerance(1.6e-2, 1e-5),
    "float32": Tolerance(1.3e-6, 1e-5),
    "complex64": Tolerance(1.3e-6, 1e-5),
    "float64": Tolerance(1e-7, 1e-7),
}
DERIVATIVES = Tolerance(1e-3, 1e-5)
# Beyond it an infinity is an overflow that another order of the same sum need not have.
OVERFLOW_SHARE = 0.25
_LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38} | dict.fromkeys(
    ("float32", "complex64"), float(np.finfo(np.float32).max)
)


class Comparing:
    """Compares results by their leaves: the arrays in them in order, None for what cannot be compared.

    tolerances: by name of the actual result's dtype; others have that of float64.
    """

    def __init__(self, leaves: Leaves, tolerances: Mapping[str, Tolerance] = TOLERANCES) -> None:
        self.leaves = leaves
        self.tolerances = tolerances

    def differences(self, reference: Any, other: Any, relation: str) -> str:
        """See `Adapter.differences`."""
        if relation == "gradient":
            return derivatives(reference, other)
        compare = {"values": self._values, "behaviour": self._values, "finite": _finite}.get(relation, _shape)
        first, second = self.leaves(reference), self.leaves(other)
        if len(first) != len(second):
            return f"{len(second)} results against {len(first)}" if relation != "finite" else ""
        pairs = _known(first, second)
        if len(pairs) > 1 and compare == self._values and self._agree_in_size(pairs):
            return ""
        return next((text for a, b in pairs if (text := compare(a, b))), "")

    def error(self, reference: Any, other: Any) -> float:
        """See `Adapter.error`; 0 for results without numbers."""
        first, second = self.leaves(reference), self.leaves(other)
        if len(first) != len(second):
            return inf
        return max((self._error(a, b) for a, b in _known(first, second)), default=0.0)

    def whole(self, result: Any) -> bool:
        """See `Adapter.whole`."""
        return any(leaf is not None and leaf.dtype.kind in "biu" for leaf in self.leaves(result))

    def _values(self, expected: Array, actual: Array) -> str:
        if text := _shape(expected, actual):
            return text
        if not _numeric(expected):
            return "" if np.array_equal(expected, actual) else "elements differ"
        wrong = self._units(expected, actual) > 1.0
        if not wrong.any():
            return ""
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        where = f"first at {place}: {actual[place]} against {expected[place]}"
        return f"{int(wrong.sum())} of {wrong.size} elements differ\n{where}"

    def _agree_in_size(self, pairs: Sequence[Pair]) -> bool:
        """Whether several results differ in signs alone: vectors of a decomposition are unique but for those."""
        numeric = all(_numeric(a) and _numeric(b) and a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
        return numeric and not any((self._units(np.abs(a), np.abs(b)) > 1.0).any() for a, b in pairs)

    def _error(self, reference: Array, other: Array) -> float:
        if reference.shape != other.shape:
            return inf
        if not _numeric(other) or not _numeric(reference):
            return 0.0 if np.array_equal(reference, other) else inf
        units = self._units(reference, other, _finite_largest(reference))
        if other.dtype.kind in "iu":
            units = np.where(_saturated(reference) | _saturated(other), 0.0, units)
        return float(units.max(initial=0.0))

    def _units(self, expected: Array, actual: Array, scale: float = 0.0) -> Array:
        """Each element's distance in units of the tolerance for the dtype of `actual`; infinite for other integers.

        scale: a magnitude that counts as each element's own, where that is less.
        """
        if actual.dtype.kind in "iub":
            return np.where(expected == actual, 0.0, inf)
        relative, absolute = self.tolerances.get(actual.dtype.name, self.tolerances["float64"])
        wide = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
        with np.errstate(all="ignore"):
            a, b = expected.astype(wide), actual.astype(wide)
            overflow = (np.abs(a) > largest(actual) * OVERFLOW_SHARE) & ~np.isfinite(b) & ~(a == -b)
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | overflow
            units = np.abs(a - b) / (absolute + relative * np.maximum(np.abs(a), scale))
        return np.where(same, 0.0, np.nan_to_num(units, nan=inf, posinf=inf))


def derivatives(expected: Sequence[float | None], actual: Sequence[float | None]) -> str:
    """How derivatives differ, by tolerances for numerical ones; NaN equals NaN, and None is none."""
    for place, (a, b) in enumerate(zip(expected, actual, strict=True)):
        if a is None or b is None:
            continue
        close = isclose(a, b, rel_tol=DERIVATIVES.relative, abs_tol=DERIVATIVES.absolute)
        if not close and not (isnan(a) and isnan(b)):
            return f"derivative by tensor {place} is not equal\n{b} against {a}"
    return ""


def largest(array: Array) -> float:
    """The largest number of its dtype."""
    return _LARGEST.get(array.dtype.name, float(np.finfo(np.float64).max))


def _known(first: Sequence[Array | None], second: Sequence[Array | None]) -> list[Pair]:
    return [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]


def _shape(expected: Array, actual: Array) -> str:
    for name, a, b in (("shape", expected.shape, actual.shape), ("dtype", expected.dtype, actual.dtype)):
        if a != b:
            return f"{name} is {b}, expected {a}"
    return ""


def _finite(plain: Array, reference: Array) -> str:
    """Where the plain result is no number and the reference, which would fit into its dtype, is one."""
    if plain.shape != reference.shape or not _floating(plain) or not _floating(reference):
        return ""
    wide = reference.astype(np.float64)
    fits = np.isfinite(wide) & (np.abs(wide) < largest(plain) ** 0.5)
    count = int((fits & ~np.isfinite(plain.astype(np.float64))).sum())
    return f"not finite in {count} of {plain.size} elements" if count else ""


def _saturated(array: Array) -> Array:
    """Where an integer is one of those that numbers too large become, of which each compiler has its own."""
    if array.dtype.kind not in "iu":
        return np.zeros(array.shape, dtype=bool)
    bounds = np.iinfo(array.dtype)
    return np.asarray((array == bounds.max) | ((array == bounds.min) & (bounds.min < 0)))


def _finite_largest(array: Array) -> float:
    """The largest magnitude in it that is finite: rounding of sums leaves that much in elements that cancel."""
    with np.errstate(all="ignore"):
        sizes = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return float(np.where(np.isfinite(sizes), sizes, 0.0).max(initial=0.0))


def _numeric(array: Array) -> bool:
    return array.dtype.kind not in "OSU"


def _floating(array: Array) -> bool:
    """Whether it has real numbers with a point; numpy knows dtypes that are not its own as records."""
    return array.dtype.kind in "fV"
