"""What a model program came to, as the worker tells it and the controller reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from fuzz_core.adapters.models import FINITE, MISSING, NONFINITE
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.wire import among, below, cut, decode, most

# Where in a block something arose; ELSEWHERE is outside of every block: in the data, the loss, the backward pass.
MAKE, USE, ELSEWHERE = "make", "use", "backward or elsewhere"
# What raised: a statement of the library for it; something native that the library's code or the program called; an
# expression of the library's code, which nobody has thought of; or the program's own.
OWN = "program"
HOWS = ("", "raise", "assert", "call", "expression", OWN)
GRADIENTS = (FINITE, NONFINITE, MISSING)
MOST_BLOCKS, MOST_LOSSES, MOST_FRAMES, MOST_RANK = 10_000, 100, 20, 64
TEXT = 4000
Text = Annotated[str, cut(TEXT)]
Block = Annotated[int, below(MOST_BLOCKS)]
Whole = Annotated[int, below(1 << 63)]


class Kind(NamedTuple):
    """Shape and dtype of a tensor; None for a dimension that is not known yet."""

    shape: Annotated[tuple[Whole | None, ...], most(MOST_RANK)]
    dtype: Annotated[str, cut(100)]


class Saw(NamedTuple):
    """What a block took (its first tensor) and gave: one tensor, or so many results. None for neither.

    Of several uses it is the first, or the first in which all dimensions were known; always the one that failed.
    alone: of one that failed, whether that tensor was all that it took, but for constants.
    """

    took: Kind | None = None
    gave: Kind | Whole | None = None
    alone: bool = True


class Compiled(NamedTuple):
    """The last use of a program's model, compiled. apart: how far its result is from the plain one, in units of the
    default tolerance. refused: what the compiler raised instead. moved: how far the plain one is from itself after a
    change of the input by a few roundings; asked for where the two are apart."""

    apart: float
    refused: Text = ""
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
    line: Whole = 0
    inside: Block | None = None
    phase: Annotated[str, among(("", MAKE, USE, ELSEWHERE))] = ""
    how: Annotated[str, among(HOWS)] = ""
    frames: Annotated[tuple[Text, ...], most(MOST_FRAMES)] = ()
    saw: Mapping[Block, Saw] = {}
    passed: Mapping[Block, Kind | None] = {}
    losses: Annotated[tuple[float, ...], most(MOST_LOSSES)] = ()
    memory: tuple[Whole, Whole, Whole] = (0, 0, 0)
    gradients: Mapping[Block, Annotated[str, among(GRADIENTS)]] = {}
    compiled: Compiled | None = None
    untrained: tuple[Text, ...] = ()
    scales: tuple[float, float] = (0.0, 0.0)
    burst: bool = False
    reused: bool = False
    spoilt: bool = False
    disturbed: bool = False

    @property
    def unexplained(self) -> bool:
        """Whether an error fell out of an expression of the library, which nobody has thought of."""
        return self.outcome.kind == "exception" and self.how == "expression"

    @classmethod
    def from_json(cls, data: Any) -> Ran:
        """Reads back an object of its fields. Raises CodecError: the data comes from untrusted code."""
        ran = decode(cls, data)
        kind, name, text, frames, seconds = ran.outcome
        if len(frames) > MOST_FRAMES:
            raise CodecError("too many frames")
        kept = tuple(frame[:TEXT] for frame in frames)
        return ran._replace(outcome=Outcome(kind, name[:TEXT], text[:TEXT], kept, seconds))
