"""The layers of a program: what makes each of them, and where it is used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import libcst as cst

Kind = Literal["held", "inline", "element", "added", "applied"]


class Use(NamedTuple):
    """A call by which a layer gets an activation, and the argument that this is."""

    call: cst.Call
    activation: cst.Arg


@dataclass(eq=False)
class Layer:
    """A layer, or a function that is applied to an activation.

    call: makes it (or applies it). kind: `held` by a variable or an attribute, made and used `inline`, an `element` of
    a sequence, `added` to one by a statement, `applied`. group: the model that it is in. piece: what goes when it is
    taken out of a sequence. makers: the calls of the function of the program that makes it, where there is one. stays:
    why it cannot be taken out. counted: what a list of layers gives is joined, so that nothing may take the place of an
    absent one.
    """

    call: cst.Call
    api: str
    kind: Kind
    group: int
    piece: cst.CSTNode | None = None
    uses: list[Use] = field(default_factory=list)
    makers: set[cst.Call] = field(default_factory=set)
    stays: str = ""
    counted: bool = False


def last_word(api: str) -> str:
    """The last part of a name, without leading underscores."""
    return api.rpartition(".")[2].lstrip("_")


def is_class(api: str) -> bool:
    """Whether a name is that of a class, by its first letter."""
    return last_word(api)[:1].isupper()


def is_input(api: str) -> bool:
    """Whether an api makes the placeholder that a model of serial calls begins with."""
    return last_word(api).startswith("Input")


def is_sequence(api: str) -> bool:
    """Whether an api makes a model of layers that are computed one after the other."""
    return last_word(api) == "Sequential"
