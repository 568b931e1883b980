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
from fuzz_core.ir.tree import outline
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
MAX_PROGRAM = 1 << 20
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
        raise CodecError(f"not a value: {_excerpt(data)}")
    reader = _DECODERS.get(data[0]) if isinstance(data[0], str) else None
    try:
        if reader is not None:
            return reader(data[1:], depth + 1)
    except (ValueError, TypeError, OverflowError) as error:
        raise CodecError(f"not a value ({error}): {_excerpt(data)}") from error
    raise CodecError(f"not a value: {_excerpt(data)}")


def _excerpt(data: Any) -> str:
    """The beginning of data that may be too deep, or hold an integer too long, to be printed."""
    try:
        return str(data)[:200]
    except (ValueError, RecursionError):
        return type(data).__name__


def _one_of(text: Any, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise ValueError(f"{str(text)[:40]!r} is none of {', '.join(allowed)}")
    return str(text)


def _text(data: Any) -> str:
    if not isinstance(data, str):
        raise TypeError(f"{str(data)[:40]!r} is no text")
    return data


def _texts(data: list[Any], count: int) -> list[str]:
    if len(data) != count:
        raise ValueError(f"{len(data)} parts instead of {count}")
    return [_text(part) for part in data]


def _listed(data: Any) -> list[Any]:
    if not isinstance(data, list):
        raise TypeError(f"{type(data).__name__} is no list")
    return data


def _sizes(data: Any) -> tuple[int, ...]:
    if not all(type(n) is int and n >= 0 for n in _listed(data)):
        raise ValueError(f"bad sizes {str(data)[:60]}")
    return tuple(data)


def _fill_in(data: Any) -> Fill:
    kind, low, high, key, raw, special = _listed(data)
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
    sizes = _sizes(shape)
    steps = None if strides is None else _sizes(strides)
    if steps is not None and len(steps) != len(sizes):
        raise ValueError("strides and shape differ in rank")
    return Tensor(str(dtype), sizes, _fill_in(fill), _one_of(container, _CONTAINERS), steps, requires_grad)


def _pairs_in(data: Any, depth: int) -> tuple[tuple[str, Value], ...]:
    pairs = [_listed(pair) for pair in _listed(data)]
    return tuple((_text(name), decode(value, depth)) for name, value in pairs)


def _values_in(data: Any, depth: int) -> tuple[Value, ...]:
    return tuple(decode(value, depth) for value in _listed(data))


def _seq_in(data: list[Any], depth: int) -> Seq:
    kind, items = data
    return Seq(_one_of(kind, _SEQS), _values_in(items, depth))


def _map_in(data: list[Any], depth: int) -> Map:
    (pairs,) = data
    return Map(_pairs_in(pairs, depth))


def _ref_in(data: list[Any], depth: int) -> Ref:
    kind, name = _texts(data, 2)
    return Ref(_one_of(kind, _REFS), name)


def _ellipsis_in(data: list[Any], depth: int) -> Prim:
    _texts(data, 0)
    return Prim("ellipsis", None)


def _invocation_in(data: list[Any], depth: int) -> Invocation:
    api, args, kwargs, then = data
    after = None
    if then is not None:
        method, then_args, then_kwargs = _listed(then)
        after = Then(_text(method), _values_in(then_args, depth), _pairs_in(then_kwargs, depth))
    return Invocation(_text(api), _values_in(args, depth), _pairs_in(kwargs, depth), after)


_DECODERS: dict[str, Callable[[list[Any], int], Value]] = {
    "f": lambda d, _: Prim("float", float(*_texts(d, 1))),
    "c": lambda d, _: Prim("complex", complex(*map(float, _texts(d, 2)))),
    "b": lambda d, _: Prim("bytes", b64decode(_texts(d, 1)[0], validate=True)),
    "e": _ellipsis_in,
    "S": _seq_in,
    "M": _map_in,
    ":": lambda d, depth: Slice(*_values_in(d, depth)),
    "R": _ref_in,
    "T": _tensor_in,
    "I": _invocation_in,
}


def encode_test(test: TestCase) -> list[Any]:
    """A test case as JSON data; a program comes last, where there is one."""
    program = [test.program] if test.program else []
    return [encode(test.invocation), test.seed, test.origin, list(test.rules), *program]


def decode_test(data: Any) -> TestCase:
    """Reads `encode_test`'s form back. Raises CodecError."""
    match data:
        case [list(raw), int(seed), int(origin), list(rules), *program] if _is_program(program):
            return TestCase(decode_invocation(raw), seed, origin, tuple(map(str, rules)), *program)
    raise CodecError(f"not a test case: {_excerpt(data)}")


def _is_program(data: list[Any]) -> bool:
    return not data or (len(data) == 1 and isinstance(data[0], str) and 0 < len(data[0]) <= MAX_PROGRAM)


def decode_invocation(data: Any) -> Invocation:
    """Like `decode`, for data that must be an invocation."""
    value = decode(data)
    if not isinstance(value, Invocation):
        raise CodecError(f"not an invocation: {_excerpt(data)}")
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
    return blake2b(json.dumps(encode(outline(value))).encode(), digest_size=16).hexdigest()
