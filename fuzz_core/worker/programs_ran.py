"""What a model program came to, as the worker tells it and the controller reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fuzz_core.adapters.models import FINITE, MISSING, NONFINITE
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome

# Where in a block something arose; ELSEWHERE is outside of every block: in the data, the loss, the backward pass.
MAKE, USE, ELSEWHERE = "make", "use", "backward or elsewhere"
# What raised: a statement of the library for it; something native that the library's code or the program called; an
# expression of the library's code, which nobody has thought of; or the program's own.
OWN = "program"
HOWS = ("", "raise", "assert", "call", "expression", OWN)
GRADIENTS = (FINITE, NONFINITE, MISSING)
MOST_BLOCKS, MOST_LOSSES, MOST_FRAMES, MOST_RANK = 10_000, 100, 20, 64
TEXT = 4000
_INT64 = 1 << 63


class Kind(NamedTuple):
    """Shape and dtype of a tensor; None for a dimension that is not known yet."""

    shape: tuple[int | None, ...]
    dtype: str


class Saw(NamedTuple):
    """What a block took (its first tensor) and gave: one tensor, or so many results. None for neither.

    Of several uses it is the first, or the first in which all dimensions were known; always the one that failed.
    alone: of one that failed, whether that tensor was all that it took, but for constants.
    """

    took: Kind | None = None
    gave: Kind | int | None = None
    alone: bool = True


class Compiled(NamedTuple):
    """The last use of a program's model, compiled. apart: how far its result is from the plain one, in units of the
    default tolerance. refused: what the compiler raised instead. moved: how far the plain one is from itself after a
    change of the input by a few roundings; asked for where the two are apart."""

    apart: float
    refused: str = ""
    moved: float = 0.0


class Asked(NamedTuple):
    """A program to be run. data: its first so many characters only make data, and are executed once for all programs
    that begin so. seed: that of all random streams.

    settled: what a library only promises (Jittor) is computed block by block, so that an error arises in its block;
    other code is compiled for that than usual, and random numbers are drawn in another order. doubled: what says
    nothing of its precision is in double precision. compared: its model is compiled too, and asked for the gradients of
    what it trains. Results of layers are weighed where either is asked for.
    """

    source: str
    data: int = 0
    seed: int = 0
    settled: bool = False
    doubled: bool = False
    compared: bool = False


class Ran(NamedTuple):
    """One execution of a program.

    line: the deepest one of the program in which it ended, from 1; 0 where it did not, or where that is not known.
    inside, phase: the block in which it ended and whether that was made or used then; None and ELSEWHERE outside of
    all. how: one of HOWS. frames: those of the library, innermost first. saw: by block. passed: what arrived at absent
    ones. losses: what it printed after `loss`; where that is nothing, the numbers that it trained by, where the library
    can tell. memory: resident bytes before, at most, and after all of it is released. gradients: of trained blocks, see
    `adapters.models`; where the library can tell. compiled: where that was asked for, and the model has been used in a
    way that is the same each time. untrained: the parameters of that model which its result depends on and get no
    gradient from it, where that was asked for. scales: the least and the greatest of what is the largest number in a
    result of a layer, where they were weighed; 0 and 0 where there is none. burst: whether the first result that was
    not finite came of a layer with finite input and weights.
    reused: the data was there already. spoilt: the process is not as it was before. disturbed: it was not when this
    began: an exception has passed code of an earlier program.
    """

    outcome: Outcome
    line: int = 0
    inside: int | None = None
    phase: str = ""
    how: str = ""
    frames: tuple[str, ...] = ()
    saw: Mapping[int, Saw] = {}
    passed: Mapping[int, Kind | None] = {}
    losses: tuple[float, ...] = ()
    memory: tuple[int, int, int] = (0, 0, 0)
    gradients: Mapping[int, str] = {}
    compiled: Compiled | None = None
    untrained: tuple[str, ...] = ()
    scales: tuple[float, float] = (0.0, 0.0)
    burst: bool = False
    reused: bool = False
    spoilt: bool = False
    disturbed: bool = False

    @property
    def unexplained(self) -> bool:
        """Whether an error fell out of an expression of the library, which nobody has thought of."""
        return self.outcome.kind == "exception" and self.how == "expression"

    def to_json(self) -> dict[str, Any]:
        """Itself as plain JSON data."""
        saw = [[number, *each] for number, each in self.saw.items()]
        pairs = {"passed": list(self.passed.items()), "gradients": list(self.gradients.items())}
        return {**self._asdict(), "outcome": self.outcome.to_json(), "saw": saw, **pairs}

    @classmethod
    def from_json(cls, data: Any) -> Ran:
        """Reads `to_json`'s form back. Raises CodecError: the data comes from untrusted code."""
        try:
            return cls._read(data)
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise CodecError(f"not what a program came to: {str(error)[:200]}") from None

    @classmethod
    def _read(cls, data: Any) -> Ran:
        outcome = Outcome.from_json(data["outcome"])
        return cls(
            outcome._replace(name=outcome.name[:TEXT], text=outcome.text[:TEXT], frames=_frames(list(outcome.frames))),
            _whole(data["line"], _INT64),
            None if data["inside"] is None else _whole(data["inside"], MOST_BLOCKS),
            _one_of(data["phase"], ("", MAKE, USE, ELSEWHERE)),
            _one_of(data["how"], HOWS),
            _frames(data["frames"]),
            {_whole(n, MOST_BLOCKS): _saw(*each) for n, *each in _items(data["saw"])},
            {_whole(n, MOST_BLOCKS): _kind(kind) for n, kind in _items(data["passed"])},
            tuple(_number(loss) for loss in _items(data["losses"], MOST_LOSSES)),
            _sizes(data["memory"]),
            {_whole(n, MOST_BLOCKS): _one_of(word, GRADIENTS) for n, word in _items(data["gradients"])},
            _compiled(data["compiled"]),
            tuple(_text(name) for name in _items(data["untrained"])),
            _scales(*_items(data["scales"], 2)),
            data["burst"] is True,
            data["reused"] is True,
            data["spoilt"] is True,
            data["disturbed"] is True,
        )


def _items(data: Any, most: int = MOST_BLOCKS) -> list[Any]:
    if type(data) is not list or len(data) > most:
        raise ValueError(f"no list of at most {most}")
    return data


def _whole(data: Any, below: int) -> int:
    if type(data) is not int or not 0 <= data < below:
        raise ValueError(f"no number below {below}")
    return data


def _number(data: Any) -> float:
    if type(data) not in (int, float):
        raise ValueError("no number")
    return float(data)


def _text(data: Any) -> str:
    if type(data) is not str:
        raise ValueError("no text")
    return data[:TEXT]


def _frames(data: Any) -> tuple[str, ...]:
    return tuple(_text(frame) for frame in _items(data, MOST_FRAMES))


def _one_of(data: Any, words: tuple[str, ...]) -> str:
    if data not in words:
        raise ValueError(f"none of {words}")
    return str(data)


def _compiled(data: Any) -> Compiled | None:
    if data is None:
        return None
    apart, refused, moved = _items(data, 3)
    return Compiled(_number(apart), _text(refused), _number(moved))


def _scales(least: Any, most: Any) -> tuple[float, float]:
    return _number(least), _number(most)


def _kind(data: Any) -> Kind | None:
    if data is None:
        return None
    shape, dtype = data
    sizes = (None if size is None else _whole(size, _INT64) for size in _items(shape, MOST_RANK))
    return Kind(tuple(sizes), _text(dtype)[:100])


def _saw(took: Any, gave: Any, alone: Any) -> Saw:
    return Saw(_kind(took), _gave(gave), alone is True)


def _gave(data: Any) -> Kind | int | None:
    return _whole(data, _INT64) if type(data) is int else _kind(data)


def _sizes(data: Any) -> tuple[int, int, int]:
    before, most, after = (_whole(size, _INT64) for size in _items(data, 3))
    return before, most, after
