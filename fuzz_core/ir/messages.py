"""What a worker answers to requests about one test case or program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from fuzz_core.ir.codec import decode
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Value
from fuzz_core.ir.wire import among, below, most

ARRAY_DTYPES = ("<f8", "<i8", "|b1")
MOST_RANK = 32
_INT64 = 1 << 63


class Replayed(NamedTuple):
    """What the first mode did, and every verdict with its evidence; a death has no verdicts (its judge is outside).

    spoilt: the process is not as it was before.
    """

    outcome: Outcome
    verdicts: tuple[tuple[Verdict, Outcome], ...] = ()
    spoilt: bool = False


class Told(NamedTuple):
    """One execution: its outcome, and the description of its result where there is one."""

    outcome: Outcome
    value: Value | None = None

    @classmethod
    def from_json(cls, data: Any) -> Told:
        """Reads an outcome and an encoded value. Raises CodecError."""
        match data:
            case [outcome, value]:
                read = Outcome.from_json(outcome)
                return cls(read, decode(value) if read.kind == "ok" else None)
        raise CodecError("no outcome with a value")


Telling = Mapping[str, Sequence[Told]]


class Executions(NamedTuple):
    """By mode, what each execution of a test case came to."""

    told: Mapping[str, tuple[Told, ...]]


class PackedArray(NamedTuple):
    """An array: dtype, shape, and its bytes in base 85."""

    dtype: Annotated[str, among(ARRAY_DTYPES)]
    shape: Annotated[tuple[Annotated[int, below(_INT64)], ...], most(MOST_RANK)]
    text: str


class ProgramResults(NamedTuple):
    """How a program ended, and the arrays that it left, by the number of their node.

    spoilt: the process is not to be used again.
    """

    came: Outcome
    results: Mapping[Annotated[int, below(_INT64)], PackedArray]
    spoilt: bool
