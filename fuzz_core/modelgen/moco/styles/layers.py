"""The layers of a program, with the calls that make and use them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import libcst as cst

Kind = Literal["held", "inline", "element", "added", "applied"]


class Use(NamedTuple):
    """A call by which a layer gets an activation, and the argument that is the activation."""

    call: cst.Call
    activation: cst.Arg


@dataclass(eq=False)
class Layer:
    """A layer, or a function that is applied to an activation."""

    call: cst.Call  # the call that makes or applies it
    api: str
    # `held` by a variable or an attribute, made and used `inline`, an `element` of a sequence, `added` to a sequence by
    # a statement, or `applied`.
    kind: Kind
    group: int  # the model that it is in
    piece: cst.CSTNode | None = None  # the text that is removed with it from a sequence
    uses: list[Use] = field(default_factory=list)
    makers: set[cst.Call] = field(default_factory=set)  # calls of the program's function that makes it, if there is one
    stays: str = ""  # why it cannot be taken out
    counted: bool = False  # whether the results of its list are joined, so that an absent layer may leave no substitute


def last_word(api: str) -> str:
    """Returns the last part of a name, without leading underscores."""
    return api.rpartition(".")[2].lstrip("_")


def is_class(api: str) -> bool:
    """Returns whether a name is a class's, by its first letter."""
    return last_word(api)[:1].isupper()


def is_input(api: str) -> bool:
    """Returns whether an api makes the placeholder that a model of serial calls begins with."""
    return last_word(api).startswith("Input")


def is_sequence(api: str) -> bool:
    """Returns whether an api makes a model of layers that are computed one after another."""
    return last_word(api) == "Sequential"
