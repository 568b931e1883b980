"""Messages between processes, and the answers of a worker: JSON lines, read strictly by the annotations of records.

Untrusted code runs in the process that sends the messages. So a message that does not fit is refused, and no function
is ever called by name. A record is a NamedTuple: a JSON list of its fields, or an object with all of them. A record in
it that has `from_json` reads itself. A mapping is a JSON object. `Annotated` adds a check, which raises ValueError or
returns the value to keep.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from fuzz_core.ir import codec
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Value

MOST_ITEMS = 10_000
ARRAY_DTYPES = ("<f8", "<i8", "|b1")
MOST_RANK = 32
_INT64 = 1 << 63
T = TypeVar("T")


def below(limit: int) -> Callable[[int], int]:
    """A check that an integer is at least 0 and less than `limit`."""

    def check(number: int) -> int:
        if not 0 <= number < limit:
            raise ValueError(f"no number below {limit}")
        return number

    return check


def most(count: int) -> Callable[[Sequence[T]], Sequence[T]]:
    """A check that a list has at most `count` items; it has at most MOST_ITEMS anyway."""

    def check(items: Sequence[T]) -> Sequence[T]:
        if len(items) > count:
            raise ValueError(f"more than {count} items")
        return items

    return check


def cut(length: int) -> Callable[[str], str]:
    """Keeps the first `length` characters of a text."""
    return lambda text: text[:length]


def among(words: Sequence[str]) -> Callable[[str], str]:
    """A check that text is one of `words`."""

    def check(text: str) -> str:
        if text not in words:
            raise ValueError(f"none of {words}")
        return text

    return check


def parse(line: bytes) -> dict[str, Any] | None:
    """Parse a line as a message; None if it is no message. The library under test can write garbage into the pipe."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def answer(line: bytes, number: int, read: Callable[[dict[str, Any]], T]) -> T | None:
    """The answer to request `number`, as `read` reads it; None for another line on the pipe, and if `read` refuses.

    `read` raises CodecError or ValueError to refuse.
    """
    message = parse(line)
    if message is None or message.get("replayed") != number:
        return None
    try:
        return read(message)
    except (CodecError, ValueError, RecursionError):
        return None


def decode(kind: type[T], data: Any) -> T:
    """Reads JSON data as a record, by its annotations alone. Raises CodecError where it is none."""
    try:
        found: T = _record(kind, data)
    except (ValueError, KeyError, OverflowError, RecursionError) as error:
        raise CodecError(f"no {kind.__name__}: {str(error)[:200]}") from None
    return found


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _record(kind: Any, data: Any) -> Any:
    hints = _hints(kind)
    items = [data[name] for name in hints] if type(data) is dict else _exact(list, data)
    return kind(*(_read(hint, item) for hint, item in zip(hints.values(), items, strict=True)))


def _read(hint: Any, data: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return parts[1](_read(parts[0], data))
    if origin in (Union, UnionType):
        return _either(parts, data)
    if origin is tuple:
        items = _exact(list, data)
        hints = parts[:1] * len(items) if parts[1:] == (...,) else parts
        return tuple(_read(part, item) for part, item in zip(hints, items, strict=True))
    if origin is Mapping:
        return {_read(parts[0], _key(parts[0], key)): _read(parts[1], item) for key, item in _exact(dict, data).items()}
    if hasattr(hint, "from_json"):
        return hint.from_json(data)
    if hasattr(hint, "_fields"):
        return _record(hint, data)
    if hint is bool:
        # Any other value counts as no.
        return data is True
    return float(data) if hint is float and type(data) is int else _exact(hint, data)


def _either(hints: Sequence[Any], data: Any) -> Any:
    for hint in hints:
        try:
            return _read(hint, data)
        except (ValueError, KeyError, OverflowError, CodecError):
            continue
    raise ValueError("none of what it may be")


def _exact(kind: type[T], data: Any) -> T:
    if type(data) is not kind or (isinstance(data, list | dict) and len(data) > MOST_ITEMS):
        raise ValueError(f"no {kind.__name__}, or too long")
    return data


def _key(hint: Any, text: str) -> str | int:
    """JSON has no keys but text."""
    if hint is str:
        return text
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("no number")
    return int(text)


class Replayed(NamedTuple):
    """The outcome of the first mode, and every verdict with its evidence. A death has no verdicts (the controller
    judges it).
    """

    outcome: Outcome
    verdicts: tuple[tuple[Verdict, Outcome], ...] = ()
    spoilt: bool = False  # the process is not as it was before


class ModeRun(NamedTuple):
    """An execution: its outcome, and the description of its result if there is one."""

    outcome: Outcome
    value: Value | None = None

    @classmethod
    def from_json(cls, data: Any) -> ModeRun:
        """Reads an outcome and an encoded value. Raises CodecError."""
        match data:
            case [outcome, value]:
                read = Outcome.from_json(outcome)
                return cls(read, codec.decode(value) if read.kind == "ok" else None)
        raise CodecError("no outcome with a value")


ModeRuns = Mapping[str, Sequence[ModeRun]]


class Executions(NamedTuple):
    """The executions of a test case by mode."""

    told: Mapping[str, tuple[ModeRun, ...]]


class PackedArray(NamedTuple):
    """An array: dtype, shape, and its bytes in base 85."""

    dtype: Annotated[str, among(ARRAY_DTYPES)]
    shape: Annotated[tuple[Annotated[int, below(_INT64)], ...], most(MOST_RANK)]
    text: str


class ProgramResults(NamedTuple):
    """The end of a program, and the arrays that it left, by the number of their node."""

    came: Outcome
    results: Mapping[Annotated[int, below(_INT64)], PackedArray]
    spoilt: bool  # the process is not to be used again
