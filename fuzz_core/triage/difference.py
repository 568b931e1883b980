"""Whether two builds' results of one call differ, by their descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.drawing import elements
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Tensor, Value

# Relative and absolute, of `torch.testing.assert_close`: the wider ones of the libraries.
TOLERANCES = {
    "float8_e4m3fn": (0.13, 1e-2),
    "float8_e5m2": (0.26, 1e-2),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*(?:[-+.]?(?:rc|dev|a|b|post|git|cpu|cu)[\w.]*)*")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+|/[\w./+-]+")


def difference(before: Value, after: Value) -> str:
    """In what two results differ: in the first line what, in the second how; empty where they agree.

    Floating-point numbers agree within the default tolerances of their dtype; texts may differ in versions, addresses
    and paths.
    """
    if type(before) is not type(after):
        return f"another type of result\n{_kind(before)} before, now {_kind(after)}"
    match before, after:
        case Tensor(), Tensor():
            return _tensors(before, after)
        case Prim(), Prim():
            return _prims(before, after)
        case Seq(), Seq():
            return _sequences(before.items, after.items)
        case Map(), Map():
            if [name for name, _ in before.entries] != [name for name, _ in after.entries]:
                return "other keys\n"
            return _sequences([item for _, item in before.entries], [item for _, item in after.entries])
        case ((Ref() | Invocation()), _):
            return "" if before == after else f"another object\n{_kind(before)} before, now {_kind(after)}"
    return ""


def _sequences(before: Sequence[Value], after: Sequence[Value]) -> str:
    if len(before) != len(after):
        return f"another number of results\n{len(before)} before, now {len(after)}"
    return next(filter(None, map(difference, before, after)), "")


def _tensors(before: Tensor, after: Tensor) -> str:
    for name, a, b in (("dtype", before.dtype, after.dtype), ("shape", before.shape, after.shape)):
        if a != b:
            return f"another {name}\n{a} before, now {b}"
    if distance(before, after) <= 1.0:
        return ""
    first, second = (_shown(tensor) for tensor in (before, after))
    return f"other values\n{first} before, now {second}"


def _shown(tensor: Tensor) -> str:
    numbers = _numbers(tensor)
    return np.array2string(numbers.ravel()[:6], threshold=6, separator=", ") + " …" * (numbers.size > 6)


def _prims(before: Prim, after: Prim) -> str:
    if before.type != after.type:
        return f"another type of result\n{before.type} before, now {after.type}"
    texts = before.type == "str"
    same = same_text(str(before.value), str(after.value)) if texts else distance(before, after) <= 1.0
    return "" if same else f"another {before.type}\n{str(before.value)[:100]} before, now {str(after.value)[:100]}"


def same_text(before: str, after: str) -> bool:
    """Whether two texts are the same but for versions, addresses and paths."""
    return _without_versions(before) == _without_versions(after)


def _without_versions(text: str) -> str:
    return _ADDRESS.sub("", _VERSION.sub("", text))


def distance(reference: Value, other: Value) -> float:
    """The largest error of a result by a reference, in units of the tolerance for `other`'s dtypes.

    Infinite where shapes, integers, or where NaN and infinity stand, differ. The reference may be of higher precision.
    """
    match reference, other:
        case Tensor(), Tensor():
            if reference.shape != other.shape:
                return inf
            return _apart(_numbers(reference), _numbers(other), other.dtype)
        case Prim(), Prim():
            return _prims_apart(reference.value, other.value)
        case (Seq(), Seq()) | (Map(), Map()):
            first, second = list(_items(reference)), list(_items(other))
            return max(map(distance, first, second), default=0.0) if len(first) == len(second) else inf
    return 0.0 if type(reference) is type(other) else inf


def _items(value: Value) -> Iterator[Value]:
    if isinstance(value, Seq):
        yield from value.items
    elif isinstance(value, Map):
        yield from (item for _, item in value.entries)


def _prims_apart(reference: Any, other: Any) -> float:
    if isinstance(reference, bool | int) or not isinstance(reference, float | complex):
        return 0.0 if reference == other else inf
    if not isinstance(other, int | float | complex):
        return inf
    # A scalar does not say in which precision it was computed.
    return _apart(np.array([reference]), np.array([other]), "complex64" if isinstance(other, complex) else "float32")


def _numbers(tensor: Tensor) -> NDArray[Any]:
    """All elements where they are described, else least and largest, and what is no number among them."""
    fill = tensor.fill
    if not tensor.size:
        return np.empty(0)
    if fill.kind == "values":
        try:
            return elements(tensor)
        except BuildError:
            return np.empty(0)
    ends = [fill.low, fill.low if fill.kind == "constant" else fill.high]
    return np.array([*ends, fill.special] if fill.special is not None else ends)


def _apart(reference: NDArray[Any], other: NDArray[Any], dtype: str) -> float:
    if reference.shape != other.shape:
        return inf
    if dtype not in TOLERANCES:
        return 0.0 if np.array_equal(reference, other) else inf
    relative, absolute = TOLERANCES[dtype]
    wide = np.complex128 if DTYPES[dtype].kind == "complex" or reference.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        a, b = (_to_the_edge(each.astype(wide), dtype) for each in (reference, other))
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        units = np.abs(a - b) / (absolute + relative * np.abs(a))
    return float(np.where(same, 0.0, np.nan_to_num(units, nan=inf, posinf=inf)).max(initial=0.0))


def _to_the_edge(numbers: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Numbers within the tolerance of the largest of the dtype become infinite: rounding decides whether they are."""
    edge = np.finfo(DTYPES[dtype].storage).max / (1 + TOLERANCES[dtype][0])
    return np.where(np.abs(numbers) >= edge, np.sign(numbers) * inf, numbers)


def _kind(value: Value) -> str:
    match value:
        case Tensor():
            return f"{value.dtype} tensor"
        case Prim():
            return value.type
        case Ref():
            return value.name
        case Invocation():
            return value.api
    return type(value).__name__.lower()
