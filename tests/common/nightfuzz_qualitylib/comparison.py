"""Whether two results of qualitylib agree."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
RELATIVE = {"float16": 1e-3, "float32": 1.3e-6, "float64": 1e-7}
ABSOLUTE = {"float16": 1e-5, "float32": 1e-5, "float64": 1e-7}
# Of derivatives: difference quotients have half the digits.
COARSE = 1e-3
OVERFLOW_SHARE = 0.25


def parts(result: Any) -> Iterator[Any]:
    """The arrays and numbers in a result, as numpy's."""
    if isinstance(result, list | tuple):
        for part in result:
            yield from parts(part)
    elif isinstance(result, bool | int | float | np.ndarray | np.generic):
        yield np.asarray(result)
    elif hasattr(result, "data"):
        yield result.data


def differences(reference: Any, other: Any, relation: str) -> str:
    """By relation (`adapters.modes`); empty where two results agree."""
    rules = {"metadata": _metadata, "shape": _shape, "finite": _finite, "gradient": _gradient}
    compare = rules.get(relation, _values)
    pairs = zip(parts(reference), parts(other), strict=False)
    return next((text for a, b in pairs if (text := compare(a, b))), "")


def _values(a: Any, b: Any) -> str:
    if (text := _metadata(a, b, strides=False)) or not a.size:
        return text
    wrong = ~np.isclose(b, a, RELATIVE.get(a.dtype.name, 0), ABSOLUTE.get(a.dtype.name, 0), equal_nan=True)
    return f"{int(wrong.sum())} of {a.size} elements differ" if wrong.any() else ""


def _shape(a: Any, b: Any) -> str:
    return _metadata(a, b, strides=False)


def _metadata(a: Any, b: Any, strides: bool = True) -> str:
    for name in ("shape", "dtype"):
        if getattr(a, name) != getattr(b, name):
            return f"{name} is {getattr(b, name)}, expected {getattr(a, name)}"
    if strides and any(n > 1 and s != t for n, s, t in zip(a.shape, a.strides, b.strides, strict=True)):
        return f"strides are {b.strides}, expected {a.strides}"
    return ""


def _finite(plain: Any, reference: Any) -> str:
    if plain.shape != reference.shape or plain.dtype.kind != "f":
        return ""
    fits = np.isfinite(reference) & (np.abs(reference) < float(np.finfo(plain.dtype).max) ** 0.5)
    wrong = fits & ~np.isfinite(plain)
    return f"not finite in {int(wrong.sum())} of {plain.size} elements" if wrong.any() else ""


def _gradient(a: Any, b: Any) -> str:
    return "" if np.allclose(a, b, COARSE, COARSE, equal_nan=True) else "derivatives differ"


def error(reference: Any, other: Any) -> float:
    """See `Adapter.error`."""
    pairs = list(zip(parts(reference), parts(other), strict=False))
    return max((_error(a, b) for a, b in pairs), default=0.0)


def _error(reference: Any, other: Any) -> float:
    if reference.shape != other.shape:
        return inf
    if other.dtype.kind != "f":
        return 0.0 if np.array_equal(reference.astype(other.dtype), other) else inf
    expected, actual = reference.astype(np.float64), other.astype(np.float64)
    overflow = (np.abs(expected) > float(np.finfo(other.dtype).max) * OVERFLOW_SHARE) & ~np.isfinite(actual)
    same = (expected == actual) | (np.isnan(expected) & np.isnan(actual)) | overflow
    units = np.abs(actual - expected) / (ABSOLUTE[other.dtype.name] + RELATIVE[other.dtype.name] * np.abs(expected))
    return float(np.where(same, 0.0, np.nan_to_num(units, nan=inf, posinf=inf)).max(initial=0.0))
