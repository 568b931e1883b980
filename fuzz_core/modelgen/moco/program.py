"""A model program in parts: a template with slots, and the code blocks that fit them (MoCo 2024, section III-A)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

INPUT = "__input__"  # the source of the argument that is the activation, in calls that are applied


class Argument(NamedTuple):
    """An argument as the program writes it; `name` is empty where it is positional."""

    name: str
    source: str

    @property
    def written(self) -> str:
        """The text between two commas."""
        return f"{self.name}={self.source}" if self.name else self.source


class Fit(NamedTuple):
    """How a layer stands where its inputs do not arrive: `Fitted(nn.Bilinear(2, 3, 4), ((8, 2), 'float32'), ...)`.

    name: a class of the program that makes the inputs of the activation, and gives what has its shape. inputs: one
    expression for each argument of the layer's call: a shape and a dtype, or a list of such. function: whether it is no
    layer but a function, whose other arguments come last: `Fitted(torch.cdist, ((2, 3), 'float32'), ..., p=1.0)`.
    """

    name: str
    inputs: tuple[str, ...]
    function: bool = False


class Call(NamedTuple):
    """The call that a block is about: a layer that is made, or a function that is applied.

    api: its canonical public name; spelled: how the program reaches it. `applied` tells a function of the activation
    (`F.relu(x)`) from a layer that is made first: one of its arguments has the source INPUT, which stands for the
    activation wherever that comes from. fit: of a layer that takes something else than arrives.
    """

    api: str
    spelled: str
    arguments: tuple[Argument, ...] = ()
    applied: bool = False
    fit: Fit | None = None

    @property
    def bare(self) -> str:
        """The call as source, without what makes it fit; of a function that is made to, its name."""
        if self.fit is not None and self.fit.function:
            return self.spelled
        return f"{self.spelled}({', '.join(argument.written for argument in self.arguments)})"

    @property
    def written(self) -> str:
        """The call as source."""
        return self.around(self.bare)

    def around(self, bare: str) -> str:
        """What makes it fit, around the call."""
        if self.fit is None:
            return bare
        settings = [argument.written for argument in self.arguments] if self.fit.function else []
        return f"{self.fit.name}({', '.join((bare, *self.fit.inputs, *settings))})"


class Block(NamedTuple):
    """One hidden layer of a program."""

    number: int  # its place in the order of computation, from 0
    call: Call
    line: int  # the line that makes the layer, from 1
    step: int = 0  # the program does not run with only some of the blocks that have the same step
    once: bool = False  # the source shows that a model uses the layer in one place


class Slot(NamedTuple):
    """A place in a template that belongs to a block: where its layer is made, where it is used, or both.

    before, after: what stands around the call; `called` is False where the call does not stand here itself. absent:
    what stands there instead while the block is not inserted. marker: what stands there instead then in a watched
    program, so that what would be its input is seen; empty where it is `absent` as well. joins: of what joins branches,
    the blocks of which any has to be inserted for it; `block` is the first of them.
    """

    block: int
    before: str
    after: str
    absent: str = ""
    called: bool = True
    marker: str = ""
    half: Literal["", "open", "close"] = ""
    original: Call | None = None
    text: str = ""
    joins: tuple[int, ...] = ()


class Template(NamedTuple):
    """The text of a program without its blocks. imports: how a call of an api that it does not use yet is reached.

    head: numbers of the layers that stay (input and output); they are blocks for adaptation alone, never taken out.
    fresh: the place in `pieces` before which further import lines go.
    """

    pieces: tuple[str | Slot, ...]
    head: tuple[int, ...] = ()
    fresh: int = 0


class Program(NamedTuple):
    """A seed program taken apart. style: `serial` or `class` (section III-B). library: the library it imports."""

    name: str
    library: str
    style: str
    template: Template
    blocks: tuple[Block, ...]


# What a watched program calls: `__made__(3, nn.Conv2d)(1, 6, 5)` makes the layer of block 3, `__made__(3, F.relu)(x)`
# applies its function, `__seen__(3, x)` is `x`, and `__seen__(3)` is a layer that gives what it gets.
MADE, SEEN = "__made__", "__seen__"


def assemble(template: Template, calls: Mapping[int, Call], watched: bool = False, imports: str = "") -> str:
    """The program with these blocks inserted, by number (those of the head are always among them).

    watched: the worker is told what each block gets and gives, by the names MADE and SEEN.
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
    if not slot.called:
        return slot.before + slot.after
    written = slot.text if call == slot.original else _half(call.bare, slot.half)
    if watched and slot.half != "close":
        written = f"{MADE}({slot.block}, {call.spelled}){written[len(call.spelled) :]}"
    return slot.before + call.around(written) + slot.after


def _half(written: str, half: str) -> str:
    if not half:
        return written
    before, _, after = written.partition(INPUT)
    return before if half == "open" else after
