"""Calls of real libraries that are right although they look wrong: one line per case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.elements import pack
from fuzz_core.ir.values import Fill, Invocation, Ref, Seq, Tensor, Then, Value, prim


class Case(NamedTuple):
    """A call, and the reason why it may not be reported."""

    reason: str
    call: Invocation


def case(reason: str, api: str, *args: Any, then: Sequence[Any] | None = None, **keywords: Any) -> Case:
    """Returns a case with a call; the instance that the call makes is called with `then`, if given."""
    later = None if then is None else Then("__call__", _values(then))
    return Case(reason, Invocation(api, _values(args), _pairs(keywords), later))


def made(api: str, *args: Any, **keywords: Any) -> Invocation:
    """Returns an argument that another call makes."""
    return Invocation(api, _values(args), _pairs(keywords))


def k(*values: Any, dtype: str = "float32", shape: tuple[int, ...] | None = None, **fields: Any) -> Tensor:
    """Returns a tensor of these elements, a vector unless a shape is given."""
    flat = np.array(values, dtype=DTYPES[dtype].storage)
    return Tensor(dtype, (len(values),) if shape is None else shape, Fill("values", data=pack(flat)), **fields)


def u(*shape: int, low: float = 0.0, high: float = 1.0, dtype: str = "float32", key: int = 5, **fields: Any) -> Tensor:
    """Returns a tensor with elements drawn from a range."""
    return Tensor(dtype, shape, Fill("uniform", low, high, key), **fields)


def c(value: float, *shape: int, dtype: str = "float32", **fields: Any) -> Tensor:
    """Returns a tensor of equal elements."""
    return Tensor(dtype, shape, Fill("constant", value, value), **fields)


def dtype(name: str) -> Ref:
    """Returns a dtype."""
    return Ref("dtype", name)


def named(kind: str, name: str) -> Ref:
    """Returns a device, or another object that the library knows by name."""
    return Ref(kind, name)


def _values(args: Sequence[Any]) -> tuple[Value, ...]:
    return tuple(map(_value, args))


def _pairs(keywords: Mapping[str, Any]) -> tuple[tuple[str, Value], ...]:
    return tuple((name, _value(value)) for name, value in keywords.items())


def _value(value: Any) -> Value:
    if isinstance(value, Tensor | Ref | Invocation):
        return value
    if isinstance(value, list | tuple):
        return Seq(type(value).__name__, _values(value))
    return prim(value)
