"""What is known of the apis that blocks are made of (MoCo 2024, section III-C), with where each fact comes from."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Source = Literal[
    "op definition", "schema", "annotation", "docstring", "error message", "probe", "trace", "llm", "import"
]
VERSION = 1


class _Fact(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Origin(_Fact):
    """Where a fact comes from: the words or the experiment, and how sure it is (0 to 1)."""

    source: Source
    text: str = ""
    confidence: float = 1.0


class Bounds(_Fact):
    """The legal range of a number, as documented; None where that side is open. `open_*`: the bound itself is out."""

    least: float | None = None
    most: float | None = None
    open_least: bool = False
    open_most: bool = False
    origin: Origin


class Parameter(_Fact):
    """A parameter of an api. Expressions are Python source that stands for a constant.

    dtype: `int`, `float`, `bool`, `str`, `dtype`, `tensor`, `callable` or "" where unknown. structure: `integer`,
    `tuple`, `list`, `tensor` or "". shape: the lengths that a sequence may have, shape_origin: who says so. default:
    an expression, None where the parameter is required, or where its default cannot be written. choices: expressions,
    the legal ones where there are only those. seen: expressions that traced valid calls had, the most frequent first.
    binds: the axis of the input whose size this number must be (by experiment, or in all traced calls), negative where
    it is counted from the last one whatever the rank, None where there is none.
    """

    name: str
    dtype: str = ""
    structure: str = ""
    shape: tuple[int, ...] = ()
    shape_origin: Origin | None = None
    default: str | None = None
    required: bool = False
    positional: bool = True
    bounds: tuple[Bounds, ...] = ()
    choices: tuple[str, ...] = ()
    choices_origin: Origin | None = None
    seen: tuple[str, ...] = ()
    binds: int | None = None


class Relation(_Fact):
    """A constraint between parameters: a Python expression over their names that is true of legal calls."""

    parameters: tuple[str, ...]
    expression: str
    origin: Origin


class Facts(_Fact):
    """An api. definition: the first sentences of its documentation. kind: `class` (made, then called) or `function`
    (applied to the activation, its first argument).

    ranks: numbers of dimensions that its input may have; dtypes: of its input, the example's first. returns: `tensor`,
    `tuple` (several), or "" where nobody has seen it. example: parameters, by name, with which it was seen to work
    (without a function's input, which is its first parameter), on tensors of the shapes `inputs`, of which the first is
    the activation; inputs is empty where nothing was seen to work. takes: what a layer was called with then, one
    expression for each argument: a shape and a dtype, `((4, 8), 'float32')`, or a list of arguments,
    `[((4, 8), 'float32'), ((4, 8), 'float32')]`; empty where that is all of `inputs`, one after the other. origin: of
    all this and of `binds`: `probe` where it was tried out here, `trace` where it is recorded alone. similar: how alike
    other apis of the library are in function, from 0 to 1.
    """

    api: str
    kind: Literal["class", "function"] = "class"
    definition: str = ""
    parameters: tuple[Parameter, ...] = ()
    relations: tuple[Relation, ...] = ()
    ranks: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()
    returns: str = ""
    example: dict[str, str] = {}
    inputs: tuple[tuple[int, ...], ...] = ()
    takes: tuple[str, ...] = ()
    origin: Origin | None = None
    similar: dict[str, float] = {}

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of this name, if there is one."""
        return next((each for each in self.parameters if each.name == name), None)


class Knowledge(_Fact):
    """All that is known of one build of a library. embedding: the model that compared the definitions.

    unfinished: apis that there was no time to experiment on, or not enough.
    """

    version: int = VERSION
    library: str
    build: str
    embedding: str = ""
    unfinished: tuple[str, ...] = ()
    apis: dict[str, Facts] = {}
