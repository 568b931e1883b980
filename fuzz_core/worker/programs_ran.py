"""The result of a model program, which the worker writes and the controller reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from fuzz_core.adapters.models import FINITE, MISSING, NONFINITE
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.wire import among, below, cut, decode, most

# The phase of a block in which an event arose. `ELSEWHERE` is outside of every block: in the data, the loss or the
# backward pass.
MAKE, USE, ELSEWHERE = "make", "use", "backward or elsewhere"
# How an error was raised. A statement of the library raises it (`raise`, `assert`), or native code that the library or
# the program called (`call`). An `expression` of the library fails without intention, and OWN stands for the program's
# own code.
OWN = "program"
HOWS = ("", "raise", "assert", "call", "expression", OWN)
GRADIENTS = (FINITE, NONFINITE, MISSING)
MOST_BLOCKS, MOST_LOSSES, MOST_FRAMES, MOST_RANK = 10_000, 100, 20, 64
TEXT = 4000
Text = Annotated[str, cut(TEXT)]
Block = Annotated[int, below(MOST_BLOCKS)]
Whole = Annotated[int, below(1 << 63)]


class TensorKind(NamedTuple):
    """Shape and dtype of a tensor; None for a dimension that is not known yet."""

    shape: Annotated[tuple[Whole | None, ...], most(MOST_RANK)]
    dtype: Annotated[str, cut(100)]


class BlockTensors(NamedTuple):
    """The first input tensor of a block, and its output: a tensor, or the number of results; None if unknown.

    The first use counts, or the first in which all dimensions were known. A use that failed replaces it.
    """

    took: TensorKind | None = None
    gave: TensorKind | Whole | None = None
    alone: bool = True  # for a failed block: whether the tensor was its only input, except constants


class CompiledUse(NamedTuple):
    """The last use of a program's model, compiled."""

    apart: float  # error of the compiled result, in units of the default tolerance
    refused: Text = ""  # the compiler's exception, if it raised one
    # Error of the plain result after a change of the input by a few roundings, if the two results are apart.
    moved: float = 0.0


class UseRecord(NamedTuple):
    """A call of the program that makes a layer, or applies a function to an activation."""

    site: Block  # the number of the call
    group: Block  # the model that it is in; 0 outside of all models
    applied: bool  # whether it is a function that is applied
    place: Block  # the argument that is the activation: of the function, or of the layer's call
    alone: bool  # whether it has no further argument
    gave: Text  # the structure of the result, such as `(x, None)`, with `x` for the first tensor
    once: bool = False  # whether one object is used in one place, each time that the model computes


class JoinRecord(NamedTuple):
    """A call or an operation that joins activations which are the same without layers."""

    site: Block
    places: Annotated[tuple[Block, ...], most(MOST_BLOCKS)]  # the arguments that are branches, or the list of branches
    own: Annotated[tuple[tuple[Block, ...], ...], most(MOST_BLOCKS)]  # the sites that only one branch has passed


class FlowRecord(NamedTuple):
    """The flow of activations through a program, in the order of computation."""

    uses: Annotated[tuple[UseRecord, ...], most(MOST_BLOCKS)] = ()
    joins: Annotated[tuple[JoinRecord, ...], most(MOST_BLOCKS)] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the record in the form that `from_json` reads."""
        return {"uses": [each._asdict() for each in self.uses], "joins": [each._asdict() for each in self.joins]}

    @classmethod
    def from_json(cls, data: Any) -> FlowRecord:
        """Read back an object of its fields, which comes from untrusted code.

        Raises:
            CodecError: the data is no record.
        """
        return decode(cls, data)


class ProgramRequest(NamedTuple):
    """A program to run, with the checks to make."""

    source: str
    data: int = 0  # length of the prefix that makes data; programs with an equal prefix share its execution
    seed: int = 0  # seed of all random streams
    # Lazy results of a library (Jittor) are computed block by block, so that an error arises in its block. Then the
    # library compiles other code, and draws random numbers in another order.
    settled: bool = False
    doubled: bool = False  # whether values without a stated precision are in double precision
    # Whether the model is compiled too, and its gradients are checked. If this or `doubled` is set, results of layers
    # are weighed.
    compared: bool = False
    hooked: bool = False  # whether the program has hooks for `programs_flow`


class ProgramResult(NamedTuple):
    """The result of one execution of a program."""

    outcome: Outcome
    # The deepest line of the program at its exception, from 1; 0 without an exception, or if the line is unknown.
    line: Whole = 0
    # The block in which the program ended, and its phase; None and `ELSEWHERE` outside of all blocks.
    inside: Block | None = None
    phase: Annotated[str, among(("", MAKE, USE, ELSEWHERE))] = ""
    how: Annotated[str, among(HOWS)] = ""  # one of HOWS
    frames: Annotated[tuple[Text, ...], most(MOST_FRAMES)] = ()  # frames of the library, innermost first
    saw: Mapping[Block, BlockTensors] = {}  # input and output by block
    passed: Mapping[Block, TensorKind | None] = {}  # the input of blocks that are absent
    # The numbers printed after `loss`; if there are none, the losses of its training, if the library can report them.
    losses: Annotated[tuple[float, ...], most(MOST_LOSSES)] = ()
    memory: tuple[Whole, Whole, Whole] = (0, 0, 0)  # resident bytes before, at the peak, and after the release
    # The gradients of trained blocks, see `adapters.models`, if the library can report them.
    gradients: Mapping[Block, Annotated[str, among(GRADIENTS)]] = {}
    # The compiled model, if `compared` asked for it and the model gives the same result each time.
    compiled: CompiledUse | None = None
    # Parameters that the model's result depends on and that get no gradient from it, if `compared` asked for them.
    untrained: tuple[Text, ...] = ()
    # The least and the greatest of the layers' largest numbers, if they were weighed; 0 and 0 if there are none.
    scales: tuple[float, float] = (0.0, 0.0)
    burst: bool = False  # whether a layer with finite input and weights gave the first result that is not finite
    flow: FlowRecord | None = None  # the flow of activations, if the program has hooks
    reused: bool = False  # whether the data existed already
    spoilt: bool = False  # whether the process has changed and must end
    disturbed: bool = False  # whether an exception has passed code of an earlier program

    @property
    def unexplained(self) -> bool:
        """Whether an expression of the library failed without intention."""
        return self.outcome.kind == "exception" and self.how == "expression"

    @classmethod
    def from_json(cls, data: Any) -> ProgramResult:
        """Read back an object of its fields.

        Raises:
            CodecError: the data comes from untrusted code.
        """
        ran = decode(cls, data)
        kind, name, text, frames, seconds = ran.outcome
        if len(frames) > MOST_FRAMES:
            raise CodecError("too many frames")
        kept = tuple(frame[:TEXT] for frame in frames)
        return ran._replace(outcome=Outcome(kind, name[:TEXT], text[:TEXT], kept, seconds))
