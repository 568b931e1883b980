"""A model program in parts: a template with slots, and the code blocks that fit them (MoCo 2024, section III-A)."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Literal, NamedTuple

INPUT = "__input__"  # the source of the argument that is the activation, in calls that are applied


class CallArgument(NamedTuple):
    """An argument as the program writes it; `name` is empty for a positional one."""

    name: str
    source: str

    @property
    def written(self) -> str:
        """The text between two commas."""
        return f"{self.name}={self.source}" if self.name else self.source


class Fit(NamedTuple):
    """The inputs of a layer that takes others than arrive: `Fitted(nn.Bilinear(2, 3, 4), ((8, 2), 'float32'), ...)`."""

    # A class of the program that makes the inputs from the activation, and returns a result of the activation's shape.
    name: str
    # An expression for each argument of the layer's call: a shape and a dtype, or a list of such pairs.
    inputs: tuple[str, ...]
    # Whether it is a function, whose further arguments come last: `Fitted(torch.cdist, ((2, 3), 'float32'), ...,
    # p=1.0)`.
    function: bool = False


class Call(NamedTuple):
    """The call of a block: a layer that is made, or a function that is applied."""

    api: str  # its canonical public name
    spelled: str  # how the program reaches it
    arguments: tuple[CallArgument, ...] = ()
    # Whether it is a function of the activation (`F.relu(x)`) and no layer that is made first. One of the function's
    # arguments then has the source INPUT, which stands for the activation.
    applied: bool = False
    fit: Fit | None = None  # the inputs of a layer that takes others than arrive

    @property
    def bare(self) -> str:
        """The call as source, without the class that makes it fit; for a fitted function, only its name."""
        if self.fit is not None and self.fit.function:
            return self.spelled
        return f"{self.spelled}({', '.join(argument.written for argument in self.arguments)})"

    @property
    def written(self) -> str:
        """The call as source."""
        return self.around(self.bare)

    def around(self, bare: str) -> str:
        """Return the call, surrounded by the class that makes it fit."""
        if self.fit is None:
            return bare
        settings = [argument.written for argument in self.arguments] if self.fit.function else []
        return f"{self.fit.name}({', '.join((bare, *self.fit.inputs, *settings))})"


class Block(NamedTuple):
    """A hidden layer of a program."""

    number: int  # its place in the order of computation, from 0
    call: Call
    line: int  # the line that makes the layer, from 1
    step: int = 0  # the program does not run with only some of the blocks that have the same step
    once: bool = False  # a run has shown that a model uses the layer in one place


class Slot(NamedTuple):
    """A place in a template that belongs to a block, or to a join of branches."""

    block: int  # the block; for a join, the first of `joins`
    text: str = ""  # the text in the seed
    absent: str = ""  # the text while the block is not inserted
    # Replaces `absent` in a watched program, to observe the block's would-be input; empty for the same text.
    marker: str = ""
    half: Literal["", "open", "close"] = ""
    original: Call | None = None  # the call in the seed
    joins: tuple[int, ...] = ()  # the blocks of a join of branches, at least one of which must be inserted for it


class Template(NamedTuple):
    """The text of a program without its blocks."""

    pieces: tuple[str | Slot, ...]
    # Numbers of the layers that stay (input and output). Adaptation treats them as blocks, but they are never
    # taken out.
    head: tuple[int, ...] = ()
    fresh: int = 0  # the place in `pieces` before which further import lines go


class Program(NamedTuple):
    """A seed program taken apart."""

    name: str
    library: str  # the library it imports
    style: str  # `serial` or `class` (section III-B)
    template: Template
    blocks: tuple[Block, ...]

    @property
    def calls(self) -> dict[int, Call]:
        """The calls of the blocks, by number."""
        return {block.number: block.call for block in self.blocks}


# Functions that a watched program calls. `__made__(3, nn.Conv2d)(1, 6, 5)` makes the layer of block 3, and `__made__(3,
# F.relu)(x)` applies its function. `__seen__(3, x)` is `x`, and `__seen__(3)` is a layer that returns its input.
MADE, SEEN = "__made__", "__seen__"


def assemble(template: Template, calls: Mapping[int, Call], watched: bool = False, imports: str = "") -> str:
    """Return the program with these blocks inserted, by number, always with the blocks of the head.

    Args:
        watched: whether the program reports each block's input and result to the worker, by the names MADE and SEEN.
        imports: further import lines.
    """
    text = []
    for place, piece in enumerate(template.pieces):
        if place == template.fresh:
            text.append(imports)
        text.append(piece if isinstance(piece, str) else _filled(piece, calls, watched))
    return "".join(text)


def _filled(slot: Slot, calls: Mapping[int, Call], watched: bool) -> str:
    call = next((calls[number] for number in (slot.block, *slot.joins) if number in calls), None)
    if call is None:
        return slot.marker if watched and slot.marker else slot.absent
    if slot.joins:
        return slot.text
    written = slot.text if call == slot.original else _half(call.bare, slot.half)
    if watched and slot.half != "close":
        written = f"{MADE}({slot.block}, {call.spelled}){written[len(call.spelled) :]}"
    return call.around(written)


def _half(written: str, half: str) -> str:
    if not half:
        return written
    before, _, after = written.partition(INPUT)
    return before if half == "open" else after


def open_at_first_block(program: Program) -> Program:
    """Move the place for imports and definitions to just before the statement of the program's first block.

    The statements before that place only make data, and a new import does not make that data again.
    """
    pieces = program.template.pieces
    first = next(place for place, piece in enumerate(pieces) if isinstance(piece, Slot))
    before = "".join(map(str, pieces[:first]))
    text, line = assemble(program.template, program.calls), before.count("\n") + 1
    statement = next(each for each in ast.parse(text).body if (each.end_lineno or 0) >= line)
    begins = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
    at = sum(len(each) + 1 for each in text.split("\n")[: begins - 1])
    template = program.template._replace(pieces=(before[:at], before[at:], *pieces[first:]), fresh=1)
    return program._replace(template=template)
