"""Messages between processes, and the answers of a worker: JSON lines, read strictly by the annotations of records.

Untrusted code runs in the process that sends the messages. So a message that does not fit is refused, and no function
is ever called by name. A record is a NamedTuple: a JSON list of its fields, or an object with all of them. A record in
it that has `from_json` reads itself; `codec` reads test cases and invocations. A mapping is a JSON object. `Annotated`
adds a check, which raises ValueError or returns the value to keep.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from fuzz_core.ir import codec
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import KINDS, Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase, Value

MOST_ITEMS = 10_000
ARRAY_DTYPES = ("<f8", "<i8", "|b1")
MOST_RANK = 32
_INT64 = 1 << 63
T = TypeVar("T")


def below(limit: int) -> Callable[[int], int]:
    """Return a check that an integer is at least 0 and less than `limit`."""

    def check(number: int) -> int:
        if not 0 <= number < limit:
            raise ValueError(f"no number below {limit}")
        return number

    return check


def most(count: int) -> Callable[[Sequence[T]], Sequence[T]]:
    """Return a check that a list has at most `count` items; it has at most MOST_ITEMS anyway."""

    def check(items: Sequence[T]) -> Sequence[T]:
        if len(items) > count:
            raise ValueError(f"more than {count} items")
        return items

    return check


def cut(length: int) -> Callable[[str], str]:
    """Keep the first `length` characters of a text."""
    return lambda text: text[:length]


def among(words: Sequence[str]) -> Callable[[str], str]:
    """Return a check that text is one of `words`."""

    def check(text: str) -> str:
        if text not in words:
            raise ValueError(f"none of {words}")
        return text

    return check


def parse(line: bytes) -> dict[str, Any] | None:
    """Parse a line as a message; None if it is no message.

    The library under test can write garbage into the pipe.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def answer(line: bytes, number: int, read: Callable[[dict[str, Any]], T]) -> T | None:
    """Return the answer to request `number`, as `read` reads it.

    The result is None for another line on the pipe, and if `read` refuses.

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
    """Read JSON data as a record, by its annotations alone.

    Raises:
        CodecError: the data is no such record.
    """
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
    if hint is TestCase:
        return codec.decode_test(data)
    if hint is Invocation:
        return codec.decode_invocation(data)
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
    """Return the key of a dictionary from its JSON key, which is text."""
    if hint is str:
        return text
    if not (text.isascii() and text.isdecimal()):
        raise ValueError("no number")
    return int(text)


Count = Annotated[int, below(1 << 53)]
Seconds = Annotated[float, below(1_000_000_000)]


class OutcomeReport(NamedTuple):
    """A worker has run a test of a logged lease."""

    ran: Count  # the number of the test
    outcome: Outcome
    shown: Count = 0  # digest of its outcome class


class NoveltyReport(NamedTuple):
    """A test has shown an outcome class or operators that its worker had not seen before."""

    shown: str  # a new outcome class; empty if only operators are new
    kind: Annotated[str, among(KINDS)]  # the kind of the outcome
    test: TestCase | None  # None without a new outcome class
    operators: tuple[str, ...]


class FindingReport(NamedTuple):
    """A worker has a verdict about a test that is not clean."""

    test: TestCase
    verdict: Verdict
    outcome: Outcome


class SearchReport(NamedTuple):
    """A worker has searched a valid call of an api; of the reasons at most one has a text."""

    searched: str  # the api
    tries: Count
    test: TestCase | None  # the call that was found, or one that was asked for by its number
    reason: str = ""  # the last refusal, or another reason
    lacks: str = ""  # a part that this machine lacks
    waits: str = ""  # an argument that no known call makes
    refused: bool = False  # whether the reason is a refusal


class LeaseDone(NamedTuple):
    """A worker's last message about a lease."""

    done: Count  # the number of the lease
    next: Count  # the first test that was not run
    counts: Mapping[str, Count] = {}  # outcomes by kind
    cold: Count = 0
    seconds: Seconds = 0.0  # seconds of the lease
    inside: Seconds = 0.0  # seconds in calls of the library
    longest: Seconds = 0.0  # seconds of the longest test
    compiling: Seconds = 0.0  # seconds of the `cold` tests, which a compiler ran for
    retire: bool = True  # the process is not to be used again


Report = OutcomeReport | NoveltyReport | FindingReport | SearchReport | LeaseDone


def report_in(message: Mapping[str, Any], lease: int, last: int) -> Report | None:
    """Read a worker's message about a lease; None if it is none.

    If only the number of the lease can be read in its last message, all of its tests count as run.
    """
    try:
        report: Report = _either(get_args(Report), message)
    except (ValueError, RecursionError):
        return LeaseDone(lease, last) if message.get("done") == lease else None
    return None if isinstance(report, LeaseDone) and report.done != lease else report


class ListedApi(NamedTuple):
    """An api of a target."""

    api: Api


class ListedConstraint(NamedTuple):
    """A declared constraint of an argument of a target's api."""

    constraint: Constraint


class ListedPackage(NamedTuple):
    """A package of the library, and its folder."""

    package: tuple[str, str]


class ListedProgram(NamedTuple):
    """A seed from the library's own test databases: its name and its code."""

    program: tuple[str, str]


InventoryEntry = ListedApi | ListedConstraint | ListedPackage | ListedProgram


def entry_in(message: Mapping[str, Any]) -> InventoryEntry:
    """Read an entry of a target's inventory.

    Raises:
        CodecError: the message is none.
    """
    for kind in get_args(InventoryEntry):
        if kind._fields[0] in message:
            entry: InventoryEntry = decode(kind, message)
            return entry
    raise CodecError(f"no entry of an inventory: {str(message)[:200]}")


class TracedCall(NamedTuple):
    """A call of a seed, as the recorder has described it."""

    call: Invocation
    ok: bool  # whether it returned
    part: Annotated[str, cut(200)]  # the test of the seed that ran; may be empty


def calls_in(messages: Iterable[Mapping[str, Any]]) -> tuple[list[TracedCall], int]:
    """Return the calls among a seed's messages, and the number of those that cannot be read."""
    calls: list[TracedCall] = []
    broken = 0
    for message in messages:
        if "call" in message:
            try:
                calls.append(decode(TracedCall, message))
            except CodecError:
                broken += 1
    return calls, broken


class Replayed(NamedTuple):
    """The outcome of the first mode, and every verdict with its evidence.

    A death has no verdicts (the controller judges it).
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
        """Read an outcome and an encoded value.

        Raises:
            CodecError: the data does not fit the class.
        """
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
