"""Known facts about the apis that blocks are made of, with their sources (MoCo 2024, section III-C)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import prim
from fuzz_core.modelgen.expressions import Opaque, meaning, same

Source = Literal[
    "op definition", "schema", "annotation", "docstring", "error message", "probe", "trace", "llm", "import"
]
VERSION = 2
# Kinds of constraints on numbers: the lower ends, then the upper ends.
LOWER, UPPER = ("minimum", "above"), ("maximum", "below")
_QUOTED_NONE = re.compile(r"""(['"])none\1""")


def _constraint(data: Any) -> Constraint:
    try:
        return data if isinstance(data, Constraint) else Constraint.from_json(data)
    except CodecError as error:
        raise ValueError(str(error)) from error


class _Fact(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Origin(_Fact):
    """The source of a fact, and its words."""

    source: Source
    text: str = ""


class Parameter(_Fact):
    """A parameter of an api.

    Expressions are Python source that stands for a constant.
    """

    name: str
    dtype: str = ""  # `int`, `float`, `bool`, `str`, `dtype`, `tensor`, `callable`, or "" if unknown
    structure: str = ""  # `integer`, `tuple`, `list`, `tensor`, or "" if unknown
    default: str | None = None  # an expression; None if the parameter is required, or if its default cannot be written
    required: bool = False
    positional: bool = True
    # Of the kinds in LOWER and UPPER, `choices` and `lengths`; the first of the last two kinds counts.
    constraints: tuple[Annotated[Constraint, BeforeValidator(_constraint)], ...] = ()
    seen: tuple[str, ...] = ()  # expressions from traced valid calls, the most frequent first
    # The axis of the input whose size this number must be (by experiment, or in all traced calls). Negative if it is
    # counted from the last axis for every rank; None if there is none.
    binds: int | None = None

    def of_kind(self, *kinds: str) -> tuple[Constraint, ...]:
        """Return the constraints of these kinds."""
        return tuple(each for each in self.constraints if each.kind in kinds)

    @property
    def bounds(self) -> tuple[Constraint, ...]:
        """The lower and upper ends of legal numbers."""
        return self.of_kind(*LOWER, *UPPER)

    @property
    def choices(self) -> tuple[Any, ...]:
        """The legal values; empty if there is no fixed list of them.

        An unquoted `none` in the words is None.
        """
        for each in self.of_kind("choices"):
            absent = "none" if _QUOTED_NONE.search(each.text) is None else None
            return tuple(dict.fromkeys(None if bound == absent else bound for bound in each.bounds))
        return ()

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths that a sequence may have; empty if unknown."""
        return next((tuple(map(int, each.bounds)) for each in self.of_kind("lengths")), ())

    @property
    def known_values(self) -> list[Any]:
        """Values that worked: the values in valid calls, and the default."""
        return [meaning(source) for source in (*self.seen, self.default) if source is not None]


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
        """Return the parameter of this name; None if there is none."""
        return next((each for each in self.parameters if each.name == name), None)


class Knowledge(_Fact):
    """The known facts about the apis of one build of a library."""

    version: int = VERSION
    library: str
    build: str
    embedding: str = ""  # the model that compared the definitions
    unfinished: tuple[str, ...] = ()  # apis without experiments, or without enough of them, because time ran out
    apis: dict[str, Facts] = {}


# Sources that users can read, or that declare. An error message is left out because the library makes that check
# already, and a guess is no bound.
DOCUMENTED = frozenset({"op definition", "schema", "annotation", "docstring"})


def documented_constraints(parameter: Parameter, *kinds: str) -> tuple[Constraint, ...]:
    """Return the documented constraints of these kinds: it is a bug of the library not to keep to them."""
    return tuple(each for each in parameter.of_kind(*kinds) if each.source in DOCUMENTED)


def with_model_ranges(knowledge: Knowledge) -> Knowledge:
    """Return the knowledge with a language model's ranges counted as documented (MoCo, III-C)."""
    return knowledge.model_copy(
        update={
            "apis": {
                name: facts.model_copy(update={"parameters": tuple(map(_believed, facts.parameters))})
                for name, facts in knowledge.apis.items()
            }
        }
    )


def _believed(parameter: Parameter) -> Parameter:
    believed = (
        each._replace(source="docstring") if each.source == "llm" and each.kind != "lengths" else each
        for each in parameter.constraints
    )
    return parameter.model_copy(update={"constraints": tuple(believed)})


def numbers(value: object) -> list[int | float]:
    """Return the number that a value is, or the numbers in a sequence."""
    return [item for item in _items(value) if isinstance(item, int | float) and not isinstance(item, bool)]


def is_within(bounds: Iterable[Constraint], *values: object) -> bool:
    """Return whether all numbers in these values keep to bounds."""
    found = [prim(number) for number in numbers(values)]
    return all(bound.holds(number) is not False for bound in bounds for number in found)


def is_choice(parameter: Parameter, value: object) -> bool:
    """Return whether a value is among the choices, if there are any."""
    return not parameter.choices or any(same(value, choice) for choice in parameter.choices)


def is_legal(parameter: Parameter, value: object) -> bool:
    """Return whether no known fact rules a value out: bounds, choices, lengths and type.

    The default is legal, and a value that has worked has the right type.
    """
    if parameter.default is not None and same(value, meaning(parameter.default)):
        return True
    if not is_within(parameter.bounds, value):
        return False
    if parameter.choices and not numbers(value):
        return is_choice(parameter, value)
    if isinstance(value, list | tuple) and parameter.lengths and len(value) not in parameter.lengths:
        return False
    return any(same(value, each) for each in parameter.known_values) or has_type(parameter, value)


def has_type(parameter: Parameter, value: object) -> bool:
    """Return whether a value has the parameter's type; if the type is unknown, the type of a known value."""
    if isinstance(value, list | tuple):
        return _takes_sequences(parameter) and bool(value) and all(_fits_one(parameter, item) for item in value)
    return parameter.structure != "list" and _fits_one(parameter, value)


def _takes_sequences(parameter: Parameter) -> bool:
    return (
        parameter.structure in ("tuple", "list")
        or bool(parameter.lengths)
        or any(isinstance(each, list | tuple) for each in parameter.known_values)
    )


_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
    "dtype": (Opaque,),
    "callable": (Opaque,),
    "tensor": (),
}


def _fits_one(parameter: Parameter, value: object) -> bool:
    kinds = _KINDS.get(parameter.dtype)
    if kinds is None:
        kinds = tuple({type(item) for item in _items(parameter.known_values)})
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)


def _items(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _items(item)
    else:
        yield value


def takes_integers(parameter: Parameter, current: object) -> bool:
    """Return whether the numbers that a parameter takes are integers."""
    if parameter.dtype in ("int", "float"):
        return parameter.dtype == "int"
    return all(isinstance(number, int) for number in numbers([current, *parameter.known_values]))
