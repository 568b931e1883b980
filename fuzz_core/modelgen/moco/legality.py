"""Tests for legal values of a parameter, according to the known facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.values import prim
from fuzz_core.modelgen.moco.constants import Opaque, meaning, same
from fuzz_core.modelgen.moco.facts import Knowledge, Parameter

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


def known_values(parameter: Parameter) -> list[Any]:
    """Return values that worked: the default, and the values in valid calls."""
    default = () if parameter.default is None else (parameter.default,)
    return [meaning(source) for source in (*parameter.seen, *default)]


def numbers(value: object) -> list[int | float]:
    """Return the number that a value is, or the numbers in a sequence."""
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return [value]
    if isinstance(value, list | tuple):
        return [number for item in value for number in numbers(item)]
    return []


def is_within(bounds: Iterable[Constraint], *values: object) -> bool:
    """Return whether all numbers in these values keep to bounds."""
    found = [prim(number) for value in values for number in numbers(value)]
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
    return any(same(value, each) for each in known_values(parameter)) or has_type(parameter, value)


def has_type(parameter: Parameter, value: object) -> bool:
    """Return whether a value has the parameter's type; if the type is unknown, the type of a known value."""
    if isinstance(value, list | tuple):
        return _takes_sequences(parameter) and bool(value) and all(_fits_one(parameter, item) for item in value)
    return parameter.structure != "list" and _fits_one(parameter, value)


def _takes_sequences(parameter: Parameter) -> bool:
    return (
        parameter.structure in ("tuple", "list")
        or bool(parameter.lengths)
        or any(isinstance(each, list | tuple) for each in known_values(parameter))
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
        kinds = tuple({type(item) for each in known_values(parameter) for item in _items(each)})
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)


def _items(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _items(item)
    else:
        yield value


def takes_integers(parameter: Parameter, values: Iterable[object] = ()) -> bool:
    """Return whether the numbers that a parameter takes are integers."""
    if parameter.dtype in ("int", "float"):
        return parameter.dtype == "int"
    found = [number for value in (*values, *known_values(parameter)) for number in numbers(value)]
    return all(isinstance(number, int) for number in found)
