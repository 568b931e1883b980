"""Values as JSON and back, strictly: what is read here may come from untrusted code.

Scalars stay JSON scalars; everything else is a list that begins with a one-letter tag.
"""

from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import (
    NONE,
    Fill,
    Invocation,
    Map,
    Prim,
    Ref,
    Seq,
    Slice,
    Tensor,
    TestCase,
    Then,
    Value,
)

MAX_DEPTH = 40
_SEQS = ("list", "tuple", "set")
_REFS = ("dtype", "device", "name")
_FILLS = ("uniform", "constant", "values")
_CONTAINERS = ("tensor", "parameter", "variable", "ndarray")


def encode(value: Value) -> Any:
    """A value as JSON data."""
    return _ENCODERS[type(value)](value)


def _float_out(value: float) -> Any:
    return value if math.isfinite(value) else ["f", repr(value)]


def _prim_out(value: Prim) -> Any:
    if value.type == "float":
        return _float_out(float(value.value))  # type: ignore[arg-type]
    if value.type == "complex":
        number = complex(value.value)  # type: ignore[arg-type]
        return ["c", repr(number.real), repr(number.imag)]
    if value.type == "bytes":
        return ["b", b64encode(value.value).decode()]  # type: ignore[arg-type]
    return ["e"] if value.type == "ellipsis" else value.value


def _fill_out(fill: Fill) -> list[Any]:
    special = None if fill.special is None else repr(fill.special)
    return [fill.kind, repr(fill.low), repr(fill.high), fill.key, b64encode(fill.data).decode(), special]


def _tensor_out(value: Tensor) -> list[Any]:
    strides = None if value.strides is None else list(value.strides)
    shape, fill = list(value.shape), _fill_out(value.fill)
    return ["T", value.dtype, shape, fill, value.container, strides, value.requires_grad]


def _pairs_out(pairs: tuple[tuple[str, Value], ...]) -> list[Any]:
    return [[name, encode(value)] for name, value in pairs]


def _invocation_out(value: Invocation) -> list[Any]:
    then = value.then and [value.then.method, [encode(v) for v in value.then.args], _pairs_out(value.then.kwargs)]
    return ["I", value.api, [encode(v) for v in value.args], _pairs_out(value.kwargs), then]


_ENCODERS: dict[type, Callable[[Any], Any]] = {
    Prim: _prim_out,
    Seq: lambda v: ["S", v.kind, [encode(item) for item in v.items]],
    Map: lambda v: ["M", _pairs_out(v.entries)],
    Slice: lambda v: [":", encode(v.start), encode(v.stop), encode(v.step)],
    Ref: lambda v: ["R", v.kind, v.name],
    Tensor: _tensor_out,
    Invocation: _invocation_out,
}


def decode(data: Any, depth: int = 0) -> Value:
    """Reads `encode`'s form back. Raises CodecError with the offending part."""
    if data is None:
        return NONE
    if isinstance(data, bool | int | float | str):
        return Prim(type(data).__name__, data)
    if depth > MAX_DEPTH or not isinstance(data, list) or not data:
        raise CodecError(f"not a value: {str(data)[:200]}")
    reader = _DECODERS.get(str(data[0]))
    try:
        if reader is not None:
            return reader(data[1:], depth + 1)
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise CodecError(f"not a value ({error}): {str(data)[:200]}") from error
    raise CodecError(f"not a value: {str(data)[:200]}")


def _one_of(text: Any, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise ValueError(f"{str(text)[:40]!r} is none of {', '.join(allowed)}")
    return str(text)


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise TypeError(f"{str(data)[:40]!r} is no text")
    return data


def _sizes(data: Any, lowest: int) -> tuple[int, ...]:
    if not all(type(n) is int and n >= lowest for n in data):
        raise ValueError(f"bad sizes {str(data)[:60]}")
    return tuple(data)


def _fill_in(data: Any) -> Fill:
    kind, low, high, key, raw, special = data
    if type(key) is not int:
        raise ValueError("bad stream key")
    return Fill(
        _one_of(kind, _FILLS),
        float(_text(low)),
        float(_text(high)),
        key,
        b64decode(_text(raw), validate=True),
        None if special is None else float(_text(special)),
    )


def _tensor_in(data: list[Any], depth: int) -> Tensor:
    dtype, shape, fill, container, strides, requires_grad = data
    if dtype not in DTYPES or type(requires_grad) is not bool:
        raise ValueError(f"bad tensor of {str(dtype)[:40]}")
    sizes = _sizes(shape, 0)
    steps = None if strides is None else _sizes(strides, 0)
    if steps is not None and len(steps) != len(sizes):
        raise ValueError("strides and shape differ in rank")
    return Tensor(str(dtype), sizes, _fill_in(fill), _one_of(container, _CONTAINERS), steps, requires_grad)


def _pairs_in(data: Any, depth: int) -> tuple[tuple[str, Value], ...]:
    return tuple((_text(name), decode(value, depth)) for name, value in data)


def _values_in(data: Any, depth: int) -> tuple[Value, ...]:
    if not isinstance(data, list):
        raise TypeError("values are no list")
    return tuple(decode(value, depth) for value in data)


def _invocation_in(data: list[Any], depth: int) -> Invocation:
    api, args, kwargs, then = data
    after = None
    if then is not None:
        method, then_args, then_kwargs = then
        after = Then(_text(method), _values_in(then_args, depth), _pairs_in(then_kwargs, depth))
    return Invocation(_text(api), _values_in(args, depth), _pairs_in(kwargs, depth), after)


_DECODERS: dict[str, Callable[[list[Any], int], Value]] = {
    "f": lambda d, _: Prim("float", float(_text(d[0]))),
    "c": lambda d, _: Prim("complex", complex(float(_text(d[0])), float(_text(d[1])))),
    "b": lambda d, _: Prim("bytes", b64decode(_text(d[0]), validate=True)),
    "e": lambda d, _: Prim("ellipsis", None),
    "S": lambda d, depth: Seq(_one_of(d[0], _SEQS), _values_in(d[1], depth)),
    "M": lambda d, depth: Map(_pairs_in(d[0], depth)),
    ":": lambda d, depth: Slice(*_values_in(d[:3], depth)),
    "R": lambda d, _: Ref(_one_of(d[0], _REFS), _text(d[1])),
    "T": _tensor_in,
    "I": _invocation_in,
}


def encode_test(test: TestCase) -> list[Any]:
    """A test case as JSON data."""
    return [encode(test.invocation), test.seed, test.origin, list(test.rules)]


def decode_test(data: Any) -> TestCase:
    """Reads `encode_test`'s form back. Raises CodecError."""
    match data:
        case [list(raw), int(seed), int(origin), list(rules)]:
            return TestCase(decode_invocation(raw), seed, origin, tuple(map(str, rules)))
    raise CodecError(f"not a test case: {str(data)[:200]}")


def decode_invocation(data: Any) -> Invocation:
    """Like `decode`, for data that must be an invocation."""
    value = decode(data)
    if not isinstance(value, Invocation):
        raise CodecError(f"not an invocation: {str(data)[:200]}")
    return value


def dumps(value: Value) -> str:
    """A value as compact JSON text."""
    return json.dumps(encode(value), separators=(",", ":"))


def loads(text: str) -> Value:
    """Reads `dumps`'s form back. Raises CodecError."""
    try:
        return decode(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise CodecError(f"not a value: {text[:200]}") from error


def digest(value: Value) -> str:
    """The identity of an invocation in the value space: 128 bits over everything but the elements of tensors.

    Two calls that differ only in the numbers inside their tensors are one entry.
    """
    return blake2b(json.dumps(_skeleton(encode(value))).encode(), digest_size=16).hexdigest()


def _skeleton(data: Any) -> Any:
    if not isinstance(data, list):
        return data
    if data and data[0] == "T":
        return [*data[:3], *data[4:]]
    return [_skeleton(item) for item in data]
