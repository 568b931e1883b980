"""The difference of two builds' results of one call, by their descriptions."""

from __future__ import annotations

import re
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fuzz_core.adapters.compare import Comparer, Parts, units
from fuzz_core.ir.dtypes import DTYPES, DType
from fuzz_core.ir.elements import period
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Tensor, Value

_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*(?:[-+.]?(?:rc|dev|a|b|post|git|cpu|cu)[\w.]*)*")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+|/[\w./+-]+")


class _Described(Comparer):
    """A comparison of the descriptions of results, which names the first part that does not agree."""

    another = "another {what}\n{expected} before, now {actual}"

    def parts(self, value: Value) -> Parts | None:
        """Return the parts of sequences and dictionaries, whose order counts."""
        match value:
            case Seq():
                return Parts(value.kind, dict(enumerate(value.items)))
            case Map():
                return Parts("dict", dict(value.entries))
        return None

    def said(self, what: str, expected: Any, actual: Any) -> str:
        """See `Comparer`; keys may be many."""
        return "other keys\n" if what == "keys" else super().said(what, expected, actual)

    def kinds(self, first: Value, second: Value) -> tuple[str, str]:
        """See `Comparer`."""
        if isinstance(first, Seq) and isinstance(second, Seq):
            return first.kind, second.kind
        return _kind(first), _kind(second)

    def close(self, first: Value, second: Value, place: tuple[Any, ...] = ()) -> str:
        """See `Comparer`; texts may differ in versions, addresses and paths."""
        match first, second:
            case Tensor(), Tensor():
                return self._tensors(first, second)
            case Prim(), Prim():
                return self._prims(first, second)
        if type(first) is not type(second):
            return self.said("type of result", *self.kinds(first, second))
        if isinstance(first, Ref | Invocation) and first != second:
            return self.said("object", *self.kinds(first, second))
        return ""

    def _tensors(self, before: Tensor, after: Tensor) -> str:
        for name in ("dtype", "shape"):
            if (a := getattr(before, name)) != (b := getattr(after, name)):
                return self.said(name, a, b)
        if self.distance(before, after) <= 1.0:
            return ""
        return f"other values\n{_shown(before)} before, now {_shown(after)}"

    def _prims(self, before: Prim, after: Prim) -> str:
        if before.type != after.type:
            return self.said("type of result", before.type, after.type)
        texts = before.type == "str"
        same = same_text(str(before.value), str(after.value)) if texts else self.distance(before, after) <= 1.0
        return "" if same else self.said(before.type, str(before.value)[:100], str(after.value)[:100])

    def distance(self, first: Value, second: Value) -> float:
        """See `Comparer`."""
        match first, second:
            case Tensor(), Tensor():
                return _apart(_numbers(first), _numbers(second), second.dtype) if first.shape == second.shape else inf
            case Prim(), Prim():
                return _prims_apart(first.value, second.value)
        return 0.0 if type(first) is type(second) else inf


_DESCRIBED = _Described(lambda value: None)


def difference(before: Value, after: Value) -> str:
    """Return the difference of two results: its subject, then a line with both values; empty if they agree.

    Floating-point numbers agree within the default tolerances of their dtype; texts may differ in versions, addresses
    and paths.
    """
    pairs = _DESCRIBED.pairs(before, after)
    texts = (pair.apart or _DESCRIBED.close(pair.first, pair.second) for pair in pairs)
    return next(filter(None, texts), "")


def distance(reference: Value, other: Value) -> float:
    """Return the largest error of a result by a reference, in units of the tolerance for `other`'s dtypes.

    The error is infinite if shapes, integers or the places of NaN and infinity differ, or if results are not made
    alike. The reference may be of higher precision.
    """
    return _DESCRIBED.error(reference, other)


def _shown(tensor: Tensor) -> str:
    numbers = _numbers(tensor)
    return np.array2string(numbers.ravel()[:6], threshold=6, separator=", ") + " …" * (numbers.size > 6)


def same_text(before: str, after: str) -> bool:
    """Return whether two texts are the same but for versions, addresses and paths."""
    one, other = (_ADDRESS.sub("", _VERSION.sub("", text)) for text in (before, after))
    return one == other


def _prims_apart(reference: Any, other: Any) -> float:
    if isinstance(reference, bool | int) or not isinstance(reference, float | complex):
        return 0.0 if reference == other else inf
    if not isinstance(other, int | float | complex):
        return inf
    # A scalar does not say in which precision it was computed.
    return _apart(np.array([reference]), np.array([other]), "complex64" if isinstance(other, complex) else "float32")


def _numbers(tensor: Tensor) -> NDArray[Any]:
    """Return the elements if they are described; if not, the least, largest and special value (NaN, infinity)."""
    fill = tensor.fill
    if not tensor.size:
        return np.empty(0)
    if fill.kind == "values":
        try:
            return period(tensor)
        except BuildError:
            return np.empty(0)
    ends = [fill.low, fill.low if fill.kind == "constant" else fill.high]
    return np.array([*ends, fill.special] if fill.special is not None else ends)


def _apart(reference: NDArray[Any], other: NDArray[Any], dtype: str) -> float:
    if reference.shape != other.shape:
        return inf
    known = DTYPES[dtype]
    if not known.floating:
        return 0.0 if np.array_equal(reference, other) else inf
    wide = np.complex128 if known.kind == "complex" or reference.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        a, b = (_to_the_edge(each.astype(wide), known) for each in (reference, other))
    return float(units(a, b, known.tolerance).max(initial=0.0))


def _to_the_edge(numbers: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Make numbers infinite that are within the tolerance of the dtype's largest one: rounding decides between them."""
    edge = dtype.largest / (1 + dtype.tolerance.relative)
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
