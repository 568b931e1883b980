"""Known facts about the apis that blocks are made of, with their sources (MoCo 2024, section III-C)."""

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
    """The source of a fact: its words or the experiment, and its confidence (0 to 1)."""

    source: Source
    text: str = ""
    confidence: float = 1.0


class NumberRange(_Fact):
    """The documented legal range of a number. None: that side has no bound. `open_*`: the bound itself is illegal."""

    least: float | None = None
    most: float | None = None
    open_least: bool = False
    open_most: bool = False
    origin: Origin


class Parameter(_Fact):
    """A parameter of an api. Expressions are Python source that stands for a constant."""

    name: str
    dtype: str = ""  # `int`, `float`, `bool`, `str`, `dtype`, `tensor`, `callable`, or "" if unknown
    structure: str = ""  # `integer`, `tuple`, `list`, `tensor`, or "" if unknown
    shape: tuple[int, ...] = ()  # the lengths that a sequence may have
    shape_origin: Origin | None = None  # the source of these lengths
    default: str | None = None  # an expression; None if the parameter is required, or if its default cannot be written
    required: bool = False
    positional: bool = True
    bounds: tuple[NumberRange, ...] = ()
    choices: tuple[str, ...] = ()  # expressions of the legal values; empty if there is no fixed list of them
    choices_origin: Origin | None = None
    seen: tuple[str, ...] = ()  # expressions from traced valid calls, the most frequent first
    # The axis of the input whose size this number must be (by experiment, or in all traced calls). Negative if it is
    # counted from the last axis for every rank; None if there is none.
    binds: int | None = None


class ParameterRelation(_Fact):
    """A constraint between parameters: a Python expression over their names that is true of legal calls."""

    parameters: tuple[str, ...]
    expression: str
    origin: Origin


class Facts(_Fact):
    """Known facts about an api."""

    api: str
    # `class` (made, then called) or `function` (applied to the activation, its first argument).
    kind: Literal["class", "function"] = "class"
    definition: str = ""  # the first sentences of its documentation
    parameters: tuple[Parameter, ...] = ()
    relations: tuple[ParameterRelation, ...] = ()
    ranks: tuple[int, ...] = ()  # numbers of dimensions that its input may have
    dtypes: tuple[str, ...] = ()  # dtypes of its input, the example's first
    returns: str = ""  # `tensor`, `tuple` (several), or "" if unknown
    # Arguments of a working call, by name, without a function's input, which is its first parameter.
    example: dict[str, str] = {}
    # Shapes of the tensors of the example, the activation first; empty if no working call is known.
    inputs: tuple[tuple[int, ...], ...] = ()
    # Arguments of the layer's call in the example, an expression for each: a shape and a dtype, `((4, 8), 'float32')`,
    # or a list, `[((4, 8), 'float32'), ((4, 8), 'float32')]`. Empty if the arguments are the `inputs`, in order.
    takes: tuple[str, ...] = ()
    # Source of the example and of `binds`: `probe` for an experiment here, `trace` for a recorded call.
    origin: Origin | None = None
    similar: dict[str, float] = {}  # similarity in function of other apis of the library, from 0 to 1

    def parameter(self, name: str) -> Parameter | None:
        """Returns the parameter of this name; None if there is none."""
        return next((each for each in self.parameters if each.name == name), None)


class Knowledge(_Fact):
    """The known facts about the apis of one build of a library."""

    version: int = VERSION
    library: str
    build: str
    embedding: str = ""  # the model that compared the definitions
    unfinished: tuple[str, ...] = ()  # apis without experiments, or without enough of them, because time ran out
    apis: dict[str, Facts] = {}
