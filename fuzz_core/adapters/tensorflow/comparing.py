"""Whether two results of TensorFlow agree, by the tolerances of `tf.test`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isclose, isnan
from typing import Any

import keras
import numpy as np
import tensorflow as tf

# Relative and absolute tolerance alike, of `tf.test.TestCase.assertAllCloseAccordingToType`; 8-bit floats, which it
# does not know, by their own epsilon.
TOLERANCE = 1e-6
TOLERANCES = {"float16": 1e-3, "bfloat16": 1e-2, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}
RELATIVE, ABSOLUTE = 1e-3, 1e-5
# Beyond it an infinity is an overflow that another order of the same sum need not have.
OVERFLOW_SHARE = 0.25

Array = np.ndarray[Any, Any]


def differences(reference: Any, other: Any, relation: str) -> str:
    """By relation (`adapters.modes`); empty where two results agree or cannot be compared."""
    if relation == "gradient":
        return _gradient(reference, other)
    compare = {"values": _values, "behaviour": _values, "finite": _finite}.get(relation, _shape)
    first, second = leaves(reference), leaves(other)
    if len(first) != len(second):
        return f"{len(second)} results against {len(first)}" if relation != "finite" else ""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    if len(pairs) > 1 and compare is _values and _agree_in_size(pairs):
        return ""
    return next((text for a, b in pairs if (text := compare(a, b))), "")


def leaves(result: Any) -> list[Array | None]:
    """The parts of a result in order, also of ragged, sparse and nested ones; None for what no kernel computes."""
    try:
        parts = tf.nest.flatten(result, expand_composites=True)
    except (TypeError, ValueError):
        return []
    return [_elements(part) for part in parts]


def _elements(part: Any) -> Array | None:
    if isinstance(part, keras.Variable):
        part = part.value
    if isinstance(part, tf.Tensor | tf.Variable):
        if part.dtype in (tf.resource, tf.variant) or not hasattr(part, "numpy"):
            return None
        return np.asarray(part.numpy())
    return np.asarray(part) if isinstance(part, np.ndarray | np.generic) else None


def dtypes(result: Any) -> Iterator[str]:
    """The names of the dtypes of the tensors in a result, in order."""
    for part in tf.nest.flatten(result, expand_composites=True):
        if isinstance(part, tf.Tensor | tf.Variable | keras.Variable):
            yield tf.as_dtype(part.dtype).name


def _values(expected: Array, actual: Array) -> str:
    if text := _shape(expected, actual):
        return text
    if not _numeric(expected):
        return "" if np.array_equal(expected, actual) else "elements differ"
    wrong = _units(expected, actual) > 1.0
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = f"first at {place}: {actual[place]} against {expected[place]}"
    return f"{int(wrong.sum())} of {wrong.size} elements differ\n{where}"


def _agree_in_size(pairs: Sequence[tuple[Array, Array]]) -> bool:
    """Whether several results differ in signs alone: vectors of a decomposition are unique but for those."""
    numeric = all(_numeric(a) and _numeric(b) and a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
    return numeric and not any((_units(np.abs(a), np.abs(b)) > 1.0).any() for a, b in pairs)


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
    fits = np.isfinite(wide) & (np.abs(wide) < _largest(plain) ** 0.5)
    count = int((fits & ~np.isfinite(plain.astype(np.float64))).sum())
    return f"not finite in {count} of {plain.size} elements" if count else ""


def _gradient(expected: Sequence[float | None], actual: Sequence[float | None]) -> str:
    """Derivatives, by tolerances for numerical ones; NaN equals NaN, and None is none."""
    for place, (a, b) in enumerate(zip(expected, actual, strict=True)):
        if a is None or b is None:
            continue
        if not isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE) and not (isnan(a) and isnan(b)):
            return f"derivative by tensor {place} is not equal\n{b} against {a}"
    return ""


def error(reference: Any, other: Any) -> float:
    """See `Adapter.error`; 0 for results without numbers."""
    first, second = leaves(reference), leaves(other)
    if len(first) != len(second):
        return inf
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return max((_error(a, b) for a, b in pairs), default=0.0)


def _error(reference: Array, other: Array) -> float:
    if reference.shape != other.shape:
        return inf
    if not _numeric(other) or not _numeric(reference):
        return 0.0 if np.array_equal(reference, other) else inf
    units = _units(reference, other, _finite_largest(reference))
    if other.dtype.kind in "iu":
        units = np.where(_saturated(reference) | _saturated(other), 0.0, units)
    return float(units.max(initial=0.0))


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


def _units(expected: Array, actual: Array, scale: float = 0.0) -> Array:
    """Each element's distance in units of the tolerance for the dtype of `actual`; infinite for other integers.

    scale: a magnitude that counts as each element's own, where that is less.
    """
    if actual.dtype.kind in "iub":
        return np.where(expected == actual, 0.0, inf)
    tolerance = TOLERANCES.get(actual.dtype.name, TOLERANCE)
    wide = np.complex128 if "c" in (actual.dtype.kind, expected.dtype.kind) else np.float64
    with np.errstate(all="ignore"):
        a, b = expected.astype(wide), actual.astype(wide)
        overflow = (np.abs(a) > _largest(actual) * OVERFLOW_SHARE) & ~np.isfinite(b)
        same = (a == b) | (np.isnan(a) & np.isnan(b)) | overflow
        units = np.abs(a - b) / (tolerance + tolerance * np.maximum(np.abs(a), scale))
    return np.where(same, 0.0, np.nan_to_num(units, nan=inf, posinf=inf))


def _numeric(array: Array) -> bool:
    return array.dtype.kind not in "OSU"


def _floating(array: Array) -> bool:
    """Whether it has real numbers with a point; numpy knows TensorFlow's own dtypes as records."""
    return array.dtype.kind in "fV"


def _largest(array: Array) -> float:
    name = array.dtype.name
    return float(
        tf.as_dtype(name if name in ("float16", "bfloat16", "float32", "complex64") else "float64").real_dtype.max
    )
