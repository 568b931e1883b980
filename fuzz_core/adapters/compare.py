"""Comparison of two results: one walk over results and one rule of tolerance. A library says what its leaves are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import inf, isclose, isnan
from typing import Any, NamedTuple

import numpy as np

from fuzz_core.ir.dtypes import DTYPES, Tolerance

Array = np.ndarray[Any, Any]


TOLERANCES: Mapping[str, Tolerance] = {name: dtype.tolerance for name, dtype in DTYPES.items() if dtype.floating}
DERIVATIVES = Tolerance(1e-3, 1e-5)
# Share of the dtype's largest number. An infinity in place of a larger number is an overflow that another order of the
# same sum need not have.
OVERFLOW_SHARE = 0.25
# Deeper nesting counts as one leaf, so that the comparison of results that contain themselves ends.
MAX_DEPTH = 64


class Parts(NamedTuple):
    """Items of a container by index or key, and the kind of the container."""

    kind: str
    items: Mapping[Any, Any]


class LeafPair(NamedTuple):
    """Two values at one place of two results; `apart` says how their structures differ, empty for two leaves."""

    first: Any
    second: Any
    place: tuple[Any, ...] = ()
    apart: str = ""


class Leaf(NamedTuple):
    """A tensor or a number of a result."""

    shape: tuple[int, ...]
    dtype: str
    kind: str  # numpy's letter for the kind of its elements
    largest: float
    tolerance: Tolerance
    elements: Callable[[], Any]  # returns the elements; None if they cannot be read
    strides: tuple[int, ...] | None = None  # None if there are no strides
    vague: bool = False  # whether its shape and dtype say little about those of another leaf

    @property
    def numeric(self) -> bool:
        """Whether tolerances are for it."""
        return self.kind not in "OSU"


class Comparer:
    """Compares results leaf by leaf; a subclass says what differs in a library.

    Args:
        array: returns a tensor of the library as a numpy array, and None for any other value.
        tolerances: tolerances by name of the actual result's dtype.
    """

    # Whether each element counts by itself. If not, vectors may differ in sign, and integers may be saturated, which
    # each compiler does in its own way. A sum that cancels may be off by the rounding of the largest element.
    strict = False
    converts = False  # whether the library itself makes tensors of other values when it executes a call another way
    # Text of a difference in shape, dtype, strides, type, number of results or keys.
    another = "{what} is {actual}, expected {expected}"
    # Text of a difference of one derivative.
    slope = "derivative by tensor {place} is not equal\n{actual} against {expected}"

    def __init__(self, array: Callable[[Any], Any], tolerances: Mapping[str, Tolerance] = TOLERANCES) -> None:
        self.array = array
        self.tolerances = tolerances

    def parts(self, value: Any) -> Parts | None:
        """Return the items of a container, keys in order; None for a leaf.

        Named tuples are tuples.
        """
        if isinstance(value, Mapping):
            return Parts("dict", {key: value[key] for key in _in_order(value)})
        if isinstance(value, list | tuple | deque):
            return Parts("tuple" if isinstance(value, tuple) else "list", dict(enumerate(value)))
        return None

    def leaf(self, value: Any) -> Leaf | None:
        """Return the comparable form of a value without parts; None if the value is neither a number nor an array."""
        number = isinstance(value, bool | int | float | complex | np.ndarray | np.generic)
        array = np.asarray(value) if number else self.array(value)
        if array is None:
            return None
        name = array.dtype.name
        return Leaf(
            tuple(array.shape),
            str(array.dtype),
            array.dtype.kind,
            DTYPES.get(name, DTYPES["float64"]).largest,
            self.tolerances.get(name, self.tolerances["float64"]),
            lambda: array,
        )

    def said(self, what: str, expected: Any, actual: Any) -> str:
        """Return the text of a difference in a property (`what`), as opposed to a difference in elements."""
        return self.another.format(what=what, expected=expected, actual=actual)

    def close(self, first: Any, second: Any, place: tuple[Any, ...] = ()) -> str:
        """Return how two leaves differ beyond the tolerance; empty if they do not."""
        expected, actual = self.leaf(first), self.leaf(second)
        if expected is None or actual is None:
            return self.said("type of result", *self.kinds(first, second)) if self._apart(expected, actual) else ""
        if text := self._shape(expected, actual):
            return text
        wrong = self._units(expected, actual) > 1.0
        if not wrong.any():
            return ""
        if not (expected.numeric and actual.numeric):
            return "elements differ"
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        told = f"{actual.elements()[at]} against {expected.elements()[at]}"
        return f"{int(wrong.sum())} of {wrong.size} elements differ\nfirst at {at}: {told}"

    def distance(self, first: Any, second: Any) -> float:
        """Return how far a leaf is from its reference in units of the tolerance; 0 if there are no numbers."""
        reference, other = self.leaf(first), self.leaf(second)
        if reference is None or other is None:
            return self._apart(reference, other)
        if reference.shape != other.shape:
            return inf
        return float(self._units(reference, other, sums=not self.strict).max(initial=0.0))

    def _apart(self, expected: Leaf | None, actual: Leaf | None) -> float:
        """Return how far apart two values are, at least one of which is not compared."""
        return inf if (expected is None) != (actual is None) and not self.converts else 0.0

    def structure(self, reference: Any, other: Any, pair: LeafPair, relation: str) -> str:
        """Return the first line about results of different structure.

        The text is empty if the first differing place is to be reported.
        """
        first, second = (sum(1 for _ in self.leaves(result)) for result in (reference, other))
        return f"{second} results against {first}" if first != second else ""

    def kinds(self, first: Any, second: Any) -> tuple[str, str]:
        """Return the names of the kinds of two values whose types differ."""
        a, b = self.parts(first), self.parts(second)
        return a.kind if a else type(first).__name__, b.kind if b else type(second).__name__

    def missing(self, first: Any, second: Any) -> bool:
        """Return whether exactly one of two leaves is None."""
        return (first is None) != (second is None)

    def pairs(self, first: Any, second: Any, place: tuple[Any, ...] = ()) -> Iterator[LeafPair]:
        """Yield leaves that stand at the same place of two results, in order, and containers that differ."""
        a, b = (self.parts(value) if len(place) < MAX_DEPTH else None for value in (first, second))
        if a is None and b is None and not self.missing(first, second):
            yield LeafPair(first, second, place)
        elif a is None or b is None or a.kind != b.kind:
            yield LeafPair(first, second, place, self.said("type of result", *self.kinds(first, second)))
        elif (keys := list(a.items)) != (others := list(b.items)):
            named = ("keys", keys, others) if a.kind == "dict" else ("number of results", len(keys), len(others))
            yield LeafPair(first, second, place, self.said(*named))
        else:
            for key, item in a.items.items():
                yield from self.pairs(item, b.items[key], (*place, key))

    def leaves(self, result: Any) -> Iterator[Any]:
        """Yield the values in a result that have no parts, in order."""
        return (pair.first for pair in self.pairs(result, result))

    def arrays(self, result: Any) -> list[Array | None]:
        """Return the tensors and numbers of a result in order; None for further values, and for unreadable ones."""
        return [leaf and leaf.elements() for leaf in map(self.leaf, self.leaves(result))]

    def dtypes(self, result: Any) -> Iterator[str]:
        """Yield the names of the dtypes of the tensors and numbers in a result."""
        return (leaf.dtype.rpartition(".")[2] for value in self.leaves(result) if (leaf := self.leaf(value)))

    def differences(self, reference: Any, other: Any, relation: str) -> str:
        """See `Adapter.differences`.

        Relations that compare only numbers ignore structure.
        """
        if relation == "gradient":
            return self._derivatives(reference, other)
        pairs = list(self.pairs(reference, other))
        apart = next((pair for pair in pairs if pair.apart), None)
        if apart and relation != "finite":
            return self.structure(reference, other, apart, relation) or apart.apart
        if relation in ("values", "behaviour", "memory"):
            if not self.strict and len(pairs) > 1 and self._agree_in_size(pairs):
                return ""
            return next((text for pair in pairs if (text := self.close(pair.first, pair.second, pair.place))), "")
        rules = {"strides": (self._strides,), "metadata": (self._shape, self._strides), "finite": (_finite,)}
        leaves = ((self.leaf(pair.first), self.leaf(pair.second)) for pair in pairs if not pair.apart)
        both = ((rule, a, b) for a, b in leaves if a and b for rule in rules.get(relation, (self._shape,)))
        return next((text for rule, a, b in both if (text := rule(a, b))), "")

    def error(self, reference: Any, other: Any) -> float:
        """See `Adapter.error`; 0 for results without numbers."""
        pairs = list(self.pairs(reference, other))
        if any(pair.apart for pair in pairs):
            return inf
        return max((self.distance(pair.first, pair.second) for pair in pairs), default=0.0)

    def has_whole_numbers(self, result: Any) -> bool:
        """See `Adapter.whole`."""
        return any(leaf.kind in "biu" for value in self.leaves(result) if (leaf := self.leaf(value)))

    def single(self, result: Any) -> bool:
        """See `Adapter.single`."""
        found = [leaf for value in self.leaves(result) if (leaf := self.leaf(value))]
        return bool(found) and all(each.kind in "fc" and each.largest <= DTYPES["float32"].largest for each in found)

    def _shape(self, expected: Leaf, actual: Leaf) -> str:
        """Return shape and dtype."""
        for name, a, b in (("shape", expected.shape, actual.shape), ("dtype", expected.dtype, actual.dtype)):
            if a != b and not expected.vague:
                return self.said(name, a, b)
        return ""

    def _strides(self, expected: Leaf, actual: Leaf) -> str:
        """Return how strides differ in dimensions of more than one element, of results that are otherwise alike."""
        a, b = expected.strides, actual.strides
        if a is None or b is None or expected.vague or 0 in expected.shape or expected.shape != actual.shape:
            return ""
        alike = all(s == t for n, s, t in zip(expected.shape, a, b, strict=True) if n > 1)
        return "" if alike else self.said("stride", a, b)

    def _derivatives(self, expected: Sequence[float | None], actual: Sequence[float | None]) -> str:
        """Return how derivatives differ, by tolerances for numerical ones; NaN equals NaN, and None equals None."""
        if len(expected) != len(actual):
            return self.said("number of derivatives", len(expected), len(actual))
        for place, (a, b) in enumerate(zip(expected, actual, strict=True)):
            if a is None or b is None:
                continue
            close = isclose(a, b, rel_tol=DERIVATIVES.relative, abs_tol=DERIVATIVES.absolute)
            if not close and not (isnan(a) and isnan(b)):
                return self.slope.format(place=place, expected=a, actual=b)
        return ""

    def _agree_in_size(self, pairs: Sequence[LeafPair]) -> bool:
        """Return whether results differ in signs alone: vectors of a decomposition are unique but for signs."""
        leaves = [(self.leaf(pair.first), self.leaf(pair.second)) for pair in pairs]
        known = [(a, b) for a, b in leaves if a and b]
        numeric = all(a.numeric and b.numeric and a.shape == b.shape and a.dtype == b.dtype for a, b in known)
        return len(known) > 1 and numeric and not any((self._units(a, b, signed=False) > 1.0).any() for a, b in known)

    def _units(self, first: Leaf, second: Leaf, signed: bool = True, sums: bool = False) -> Array:
        """Return each element's distance in units of the tolerance of `second`; infinite for other integers.

        The distance is 0 if elements cannot be read.

        Args:
            sums: whether cancellation in a sum, and saturated integers, are allowed to differ.
        """
        expected, actual = first.elements(), second.elements()
        if expected is None or actual is None:
            return np.zeros(())
        if not (first.numeric and second.numeric):
            return np.asarray(0.0 if np.array_equal(expected, actual) else inf)
        if not signed:
            expected, actual = np.abs(expected), np.abs(actual)
        with np.errstate(all="ignore"):
            if second.kind in "iub":
                same = (expected.astype(actual.dtype) if self.strict else expected) == actual
                if sums and second.kind in "iu":
                    same |= _saturated(expected) | _saturated(actual)
                return np.where(same, 0.0, inf)
            wide = np.complex128 if "c" in (first.kind, second.kind) else np.float64
            a, b = expected.astype(wide), actual.astype(wide)
            overflow = (np.abs(a) > second.largest * OVERFLOW_SHARE) & ~np.isfinite(b) & ~(a == -b)
        return units(a, b, second.tolerance, overflow, _finite_largest(expected) if sums else 0.0)


def units(expected: Array, actual: Array, tolerance: Tolerance, excused: Any = False, scale: float = 0.0) -> Array:
    """Return each element's distance in units of the tolerance.

    NaN equals NaN, and is infinitely far from any number.

    Args:
        excused: mask of elements that count as the same.
        scale: lower bound for the magnitude of each element.
    """
    with np.errstate(all="ignore"):
        same = (expected == actual) | (np.isnan(expected) & np.isnan(actual)) | excused
        size = np.maximum(np.abs(expected), scale)
        found = np.abs(expected - actual) / (tolerance.absolute + tolerance.relative * size)
    return np.where(same, 0.0, np.nan_to_num(found, nan=inf, posinf=inf))


def named(place: tuple[Any, ...]) -> str:
    """Return a place in a result as it is written behind its name: `[0]['a']`."""
    return "".join(f"[{key!r}]" for key in place)


def _in_order(keys: Mapping[Any, Any]) -> list[Any]:
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=lambda key: (type(key).__name__, repr(key)))


def _finite(plain: Leaf, reference: Leaf) -> str:
    """Return a text about elements that are not finite although the reference is finite and fits into the dtype."""
    # numpy knows dtypes that are not its own as records.
    compared = plain.shape == reference.shape and not plain.vague and plain.kind in "fV" and reference.kind in "fV"
    if not compared or (numbers := plain.elements()) is None or (wide := reference.elements()) is None:
        return ""
    with np.errstate(all="ignore"):
        wide = wide.astype(np.float64)
        fits = np.isfinite(wide) & (np.abs(wide) < plain.largest**0.5)
        count = int((fits & ~np.isfinite(numbers.astype(np.float64))).sum())
    return f"not finite in {count} of {numbers.size} elements" if count else ""


def _saturated(array: Array) -> Array:
    """Return a mask of integers at a limit of their dtype.

    Conversions of too large numbers end there, differently for each compiler.
    """
    if array.dtype.kind not in "iu":
        return np.zeros(array.shape, dtype=bool)
    bounds = np.iinfo(array.dtype)
    return np.asarray((array == bounds.max) | ((array == bounds.min) & (bounds.min < 0)))


def _finite_largest(array: Array) -> float:
    """Return the largest finite magnitude of an array: rounding in a sum may leave so much in elements that cancel."""
    with np.errstate(all="ignore"):
        sizes = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    return float(np.where(np.isfinite(sizes), sizes, 0.0).max(initial=0.0))
