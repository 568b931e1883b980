"""Extreme values: the ends of a parameter's type, which no documentation has to mention (beyond MoCo 2024)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fuzz_core.modelgen.moco.calls import parameters, value, with_value
from fuzz_core.modelgen.moco.candidates import legal_range
from fuzz_core.modelgen.moco.constants import Opaque, meaning, written
from fuzz_core.modelgen.moco.facts import Facts, Parameter
from fuzz_core.modelgen.moco.legality import numbers
from fuzz_core.modelgen.moco.program import Call

# Nothing, below it, and what 32 and 64 bits no longer hold.
INTEGERS = (0, -1, -(1 << 31) - 1, 1 << 31, (1 << 63) - 1)
FLOATS = (0.0, -1.0, math.inf, -math.inf, math.nan, 1e38, 5e-324)


def extremes(call: Call, facts: Facts) -> Iterator[tuple[str, Call]]:
    """(parameter, call) for every extreme value of every parameter, bound ones too: whatever a library says is right.

    It may take the value, and it may refuse it; it may not die of it or fail internally.
    """
    for parameter in parameters(facts):
        if parameter.dtype == "tensor" or parameter.name.startswith("_"):
            continue
        source = value(call, facts, parameter.name)
        current = Opaque("") if source is None else meaning(source)
        for extreme in _values(parameter, current):
            if source is None or written(extreme) != source:
                yield parameter.name, with_value(call, facts, parameter.name, written(extreme))


def is_endless(source: str) -> bool:
    """Whether a value asks for so much that nobody can say how long that may take."""
    return any(abs(number) >= 1 << 31 for number in numbers(meaning(source)) if isinstance(number, int))


def asks_for_memory(source: str) -> bool:
    """Whether a value may be a size for which there is none: less than nothing is no size."""
    return any(number >= 1 << 31 for number in numbers(meaning(source)) if isinstance(number, int))


def within(source: str) -> str:
    """The same value with every integer in it as far from nothing as 32 bits hold."""
    return written(_within(meaning(source)))


def _within(given: Any) -> Any:
    if isinstance(given, list | tuple) and not isinstance(given, Opaque):
        return type(given)(map(_within, given))
    largest = (1 << 31) - 1
    return min(max(given, -largest), largest) if type(given) is int else given


def _values(parameter: Parameter, current: object) -> Iterator[Any]:
    """Of numbers the ends, of sequences one without items and an end for each item, of text none; None of them all."""
    if isinstance(current, bool) or parameter.dtype == "bool":
        return
    yield from () if current is None else (None,)
    if isinstance(current, str) or parameter.dtype == "str":
        yield ""
    elif isinstance(current, list | tuple) and not isinstance(current, Opaque):
        yield type(current)()
        for place in range(len(current)):
            ends = _ends(parameter, current[place]) if numbers(current[place]) else ()
            yield from (type(current)([*current[:place], end, *current[place + 1 :]]) for end in ends)
    elif numbers(current) or parameter.dtype in ("int", "float"):
        yield from _ends(parameter, current)


def _ends(parameter: Parameter, current: object) -> tuple[float, ...]:
    return INTEGERS if legal_range(parameter, current).whole else FLOATS
