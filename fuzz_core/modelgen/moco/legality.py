"""Tests for legal values of a parameter, according to the known facts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from fuzz_core.modelgen.moco.constants import Opaque, meaning, same
from fuzz_core.modelgen.moco.facts import Knowledge, NumberRange, Origin, Parameter

# Sources that users can read, or that declare. An error message is left out because the library makes that check
# already, and a guess is no bound.
DOCUMENTED = frozenset({"op definition", "schema", "annotation", "docstring"})
SURE = 0.5


def documented(origin: Origin | None) -> bool:
    """Returns whether a fact is documented, so that it is a bug of the library not to keep to it."""
    return origin is not None and origin.source in DOCUMENTED and origin.confidence >= SURE


def with_model_ranges(knowledge: Knowledge) -> Knowledge:
    """Returns the knowledge with a language model's ranges counted as documented (MoCo, III-C)."""
    return knowledge.model_copy(
        update={
            "apis": {
                name: facts.model_copy(update={"parameters": tuple(map(_believed, facts.parameters))})
                for name, facts in knowledge.apis.items()
            }
        }
    )


def _believed(parameter: Parameter) -> Parameter:
    bounds = tuple(each.model_copy(update={"origin": _documented(each.origin)}) for each in parameter.bounds)
    origin = parameter.choices_origin
    return parameter.model_copy(
        update={"bounds": bounds, "choices_origin": None if origin is None else _documented(origin)}
    )


def _documented(origin: Origin) -> Origin:
    return origin.model_copy(update={"source": "docstring"}) if origin.source == "llm" else origin


def known(parameter: Parameter) -> list[Any]:
    """Returns values that worked: the default, and the values in valid calls."""
    default = () if parameter.default is None else (parameter.default,)
    return [meaning(source) for source in (*parameter.seen, *default)]


def numbers(value: object) -> list[int | float]:
    """Returns the number that a value is, or the numbers in a sequence."""
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return [value]
    if isinstance(value, list | tuple):
        return [number for item in value for number in numbers(item)]
    return []


def within(bounds: NumberRange, number: float) -> bool:
    """Returns whether a number keeps to bounds. NaN keeps to none."""
    low, high = bounds.least, bounds.most
    over = low is None or (number > low if bounds.open_least else number >= low)
    under = high is None or (number < high if bounds.open_most else number <= high)
    return over and under and not math.isnan(number)


def chosen(parameter: Parameter, value: object) -> bool:
    """Returns whether a value is among the choices."""
    return any(same(value, meaning(choice)) for choice in parameter.choices)


def legal(parameter: Parameter, value: object) -> bool:
    """Returns whether no known fact rules a value out: bounds, choices, lengths and type.

    The default is legal, and a value that has worked has the right type.
    """
    if parameter.default is not None and same(value, meaning(parameter.default)):
        return True
    if not all(within(bounds, number) for bounds in parameter.bounds for number in numbers(value)):
        return False
    if parameter.choices and not numbers(value):
        return chosen(parameter, value)
    if isinstance(value, list | tuple) and parameter.shape and len(value) not in parameter.shape:
        return False
    return any(same(value, each) for each in known(parameter)) or fits(parameter, value)


def fits(parameter: Parameter, value: object) -> bool:
    """Returns whether a value has the parameter's type; if the type is unknown, the type of a known value."""
    if isinstance(value, list | tuple):
        return _takes_sequences(parameter) and bool(value) and all(_fits_one(parameter, item) for item in value)
    return parameter.structure != "list" and _fits_one(parameter, value)


def _takes_sequences(parameter: Parameter) -> bool:
    return (
        parameter.structure in ("tuple", "list")
        or bool(parameter.shape)
        or any(isinstance(each, list | tuple) for each in known(parameter))
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
        kinds = tuple({type(item) for each in known(parameter) for item in _items(each)})
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)


def _items(value: object) -> Iterator[object]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _items(item)
    else:
        yield value


def whole(parameter: Parameter, values: Iterable[object] = ()) -> bool:
    """Returns whether the numbers that a parameter takes are integers."""
    if parameter.dtype in ("int", "float"):
        return parameter.dtype == "int"
    found = [number for value in (*values, *known(parameter)) for number in numbers(value)]
    return all(isinstance(number, int) for number in found)
