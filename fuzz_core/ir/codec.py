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
    """Return a value as JSON data."""
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
    """Read `encode`'s form back.

    Raises:
        CodecError: the data is invalid; the message has the offending part.
    """
    if data is None:
        return NONE
    if isinstance(data, bool | int | float | str):
        return Prim(type(data).__name__, data)
    try:
        found = _read(data, depth + 1) if depth <= MAX_DEPTH else None
    except (ValueError, TypeError, OverflowError) as error:
        raise CodecError(f"not a value ({error}): {_excerpt(data)}") from error
    if found is None:
        raise CodecError(f"not a value: {_excerpt(data)}")
    return found


def _read(data: Any, depth: int) -> Value | None:
    match data:
        case ["I", str(api), list(args), list(kwargs), then]:
            return Invocation(api, _values_in(args, depth), _pairs_in(kwargs, depth), _then_in(then, depth))
        case ["T", str(dtype), list(shape), list(fill), container, strides, bool(requires_grad)] if (
            dtype in DTYPES and container in _CONTAINERS and (strides is None or len(strides) == len(shape))
        ):
            steps = None if strides is None else _sizes(strides)
            return Tensor(dtype, _sizes(shape), _fill_in(fill), container, steps, requires_grad)
        case ["S", str(kind), list(items)] if kind in _SEQS:
            return Seq(kind, _values_in(items, depth))
        case ["M", list(pairs)]:
            return Map(_pairs_in(pairs, depth))
        case [":", start, stop, step]:
            return Slice(*_values_in([start, stop, step], depth))
        case ["R", str(kind), str(name)] if kind in _REFS:
            return Ref(kind, name)
        case ["f", str(number)]:
            return Prim("float", float(number))
        case ["c", str(real), str(imaginary)]:
            return Prim("complex", complex(float(real), float(imaginary)))
        case ["b", str(raw)]:
            return Prim("bytes", b64decode(raw, validate=True))
        case ["e"]:
            return Prim("ellipsis", None)
    return None


def _excerpt(data: Any) -> str:
    """Return the beginning of data that may be too deep, or hold an integer too long, to be printed."""
    try:
        return str(data)[:200]
    except (ValueError, RecursionError):
        return type(data).__name__


def _values_in(data: list[Any], depth: int) -> tuple[Value, ...]:
    return tuple([decode(value, depth) for value in data])


def _pairs_in(data: list[Any], depth: int) -> tuple[tuple[str, Value], ...]:
    if not all(type(pair) is list and len(pair) == 2 and type(pair[0]) is str for pair in data):
        raise ValueError("no name with a value")
    return tuple([(name, decode(value, depth)) for name, value in data])


def _then_in(data: Any, depth: int) -> Then | None:
    match data:
        case None:
            return None
        case [str(method), list(args), list(kwargs)]:
            return Then(method, _values_in(args, depth), _pairs_in(kwargs, depth))
    raise ValueError("nothing that is done with an instance")


def _sizes(data: Any) -> tuple[int, ...]:
    if type(data) is not list or not all(type(n) is int and n >= 0 for n in data):
        raise ValueError(f"bad sizes {str(data)[:60]}")
    return tuple(data)


def _fill_in(data: list[Any]) -> Fill:
    match data:
        case [str(kind), str(low), str(high), int(key), str(raw), None | str() as special] if (
            kind in _FILLS and type(key) is int
        ):
            last = None if special is None else float(special)
            return Fill(kind, float(low), float(high), key, b64decode(raw, validate=True), last)
    raise ValueError("bad elements of a tensor")


def encode_test(test: TestCase) -> list[Any]:
    """Return a test case as JSON data; a program comes last, where there is one."""
    program = [test.program] if test.program else []
    return [encode(test.invocation), test.seed, test.origin, list(test.rules), *program]


def decode_test(data: Any) -> TestCase:
    """Read `encode_test`'s form back.

    Raises:
        CodecError: the data is no test case.
    """
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
    """Return a value as compact JSON text."""
    return json.dumps(encode(value), separators=(",", ":"))


def loads(text: str) -> Value:
    """Read `dumps`'s form back.

    Raises:
        CodecError: the text is no JSON within the bounds.
    """
    try:
        return decode(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise CodecError(f"not a value: {text[:200]}") from error


def digest(value: Value) -> str:
    """Return the identity of an invocation in the value space: 128 bits over everything but the elements of tensors.

    Two calls that differ only in the numbers inside their tensors are one entry.
    """
    return blake2b(json.dumps(encode(outline(value))).encode(), digest_size=16).hexdigest()
