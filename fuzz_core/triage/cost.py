"""The total order on test cases: which of two is simpler."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

from fuzz_core.ir.codec import encode_test
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.tree import walk
from fuzz_core.ir.values import Fill, Invocation, Prim, Ref, Tensor, TestCase, Value

_CAP = float(2**70)
_COMMON = ("float32", "int64", "bool", "float64", "int32")
_RANKS = (*_COMMON, *DTYPES)
_SCALARS = ("none", "bool", "int", "float", "complex", "str", "bytes", "ellipsis")
_CONTAINERS = ("tensor", "parameter", "variable", "ndarray")
# Zeros and ones are simpler than any of these.
_CONSTANT, _VALUES, _UNIFORM, _SPECIAL = range(2, 6)


def cost(test: TestCase) -> tuple[Any, ...]:
    """Return the cost of a test case, as a tuple; the simplest test case has the least cost.

    The tuple holds the number of arguments, then sizes and ranks of tensors, then scalars, fills, dtypes and layouts,
    and last the text. An empty dimension counts as one element, and costs more than a dimension of one. So a bug that
    does not need empty tensors is not reported on them: maintainers take those for corner cases.
    """
    values = list(walk(test.invocation))
    tensors = [value for value in values if isinstance(value, Tensor)]
    fills = [_fill(tensor.dtype, tensor.size, tensor.fill) for tensor in tensors]
    text = json.dumps(encode_test(test._replace(origin=0, rules=())))
    return (
        len(values) + sum(isinstance(value, Invocation) and value.then is not None for value in values),
        sum(math.prod(max(n, 1) for n in tensor.shape) for tensor in tensors),
        sum(len(tensor.shape) for tensor in tensors),
        sum(tensor.shape.count(0) for tensor in tensors),
        *_scalars([value for value in values if isinstance(value, Prim)]),
        sum(rank for rank, _ in fills),
        math.fsum(magnitude for _, magnitude in fills),
        sum(map(_reference, values)),
        sum(t.strides is not None for t in tensors),
        sum(t.requires_grad for t in tensors),
        sum(_CONTAINERS.index(t.container) for t in tensors),
        test.seed != 0,
        len(text),
        text,
    )


def _scalars(prims: list[Prim]) -> tuple[int, int, float]:
    """Return ranks of types, then magnitudes; integers are separate, since a float would lose their last digits."""
    odd = sum(isinstance(p.value, float) and not p.value.is_integer() for p in prims)
    whole = sum(2 * abs(p.value) + (p.value < 0) for p in prims if isinstance(p.value, int))
    size = math.fsum(_size(p.value) for p in prims if not isinstance(p.value, int))
    return 2 * sum(_SCALARS.index(p.type) for p in prims) + odd, whole, size


def _size(value: Any) -> float:
    if isinstance(value, str | bytes):
        return float(len(value))
    if value is None:
        return 0.0
    magnitude = abs(value.real) + abs(value.imag)
    sign = 0.25 if isinstance(value, float) and value < 0 else 0.0
    return min(float(magnitude), _CAP) + sign if magnitude == magnitude else 2 * _CAP


def _fill(dtype: str, size: int, fill: Fill) -> tuple[int, float]:
    if fill.special is not None and DTYPES[dtype].floating:
        return _SPECIAL, _size(fill.low) + _size(fill.high)
    if fill.kind == "constant":
        plain = fill.low in (0.0, 1.0) and math.copysign(1, fill.low) > 0
        return (int(fill.low) if plain else _CONSTANT), _size(fill.low)
    if fill.kind == "uniform":
        return _UNIFORM, _size(fill.low) + _size(fill.high)
    if DTYPES[dtype].kind == "string":
        return _VALUES, float(len(fill.data))
    return _VALUES, math.fsum(_magnitudes(dtype, size, fill.data))


def _magnitudes(dtype: str, size: int, data: bytes) -> Iterator[float]:
    """Yield magnitudes of the elements that the data stands for; fewer data is repeated."""
    given = [math.hypot(*parts) for parts in DTYPES[dtype].unpack(data)]
    for each in islice(cycle(given), size):
        yield _CAP if each == math.inf else 2 * _CAP if each != each else min(each, 2 * _CAP)


def _reference(value: Value) -> int:
    """Return 0 for the default dtype, and more for rarer ones."""
    if isinstance(value, Ref) and value.kind != "dtype":
        return int(value.name != "cpu")
    if not isinstance(value, Tensor | Ref):
        return 0
    name = value.dtype if isinstance(value, Tensor) else value.name
    return _RANKS.index(name) if name in _RANKS else len(_RANKS)
