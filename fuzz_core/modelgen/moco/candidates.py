"""Further values for a parameter: legal ones, and values just outside of the documentation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.expressions import Opaque, written
from fuzz_core.modelgen.moco.facts import (
    LOWER,
    UPPER,
    Parameter,
    documented_constraints,
    is_choice,
    is_legal,
    is_within,
    numbers,
    takes_integers,
)

# Largest size if no upper bound is known: larger layers cost time and memory, and find no other bugs.
MOST = 64
NEAR = 8
DRAWS = 4


class Range(NamedTuple):
    """The legal numbers of a parameter."""

    least: float | None  # the lower bound, or None if none is known
    most: float | None  # the upper bound, or None if none is known
    whole: bool  # whether only integers are legal


def legal_range(parameter: Parameter, current: object = None) -> Range:
    """Return the intersection of a parameter's finite bounds; open bounds count as closed."""
    lows, highs = ([float(each.bounds[0]) for each in parameter.of_kind(*kinds)] for kinds in (LOWER, UPPER))
    return Range(max(lows, default=None), min(highs, default=None), takes_integers(parameter, current))


def others(parameter: Parameter, current: object, rng: Rng) -> list[Any]:
    """Return legal values that differ from the current one; empty if no other value is known."""
    pool = _pool(parameter, current, rng)
    found = {written(value): value for value in pool if is_legal(parameter, value)}
    found.pop(written(current), None)
    return list(found.values())


def _pool(parameter: Parameter, current: object, rng: Rng) -> Iterator[Any]:
    yield from parameter.choices
    yield from (value for value in parameter.known_values if _is_small(value, parameter))
    if isinstance(current, bool) or parameter.dtype == "bool":
        yield from (True, False)
    elif not isinstance(current, Opaque) or parameter.bounds:
        drawn = list(_numbers(parameter, current, rng))
        yield from _placed(parameter, current, drawn, rng)


def _is_small(value: object, parameter: Parameter) -> bool:
    """Return whether a value is small enough, as a traced call may have any size.

    A default always is.
    """
    return all(abs(number) <= 4 * MOST for number in numbers(value)) or written(value) == parameter.default


def _numbers(parameter: Parameter, current: object, rng: Rng) -> Iterator[int | float]:
    least, most, integers = legal_range(parameter, current)
    anchors = filter(math.isfinite, numbers([current, *parameter.known_values]))
    if least is None or most is None:
        # An open side does not limit the size: values near a working one are legal more often than arbitrary values.
        for anchor in dict.fromkeys(anchors):
            yield from _near(anchor, integers, rng)
    if least is None and most is None:
        return
    for low, high in _windows(least, most):
        for _ in range(DRAWS):
            yield rng.between(math.ceil(low), math.floor(high)) if integers else round(rng.uniform(low, high), 4)
    # At the boundary itself, and next to it; `legal` removes the bounds that are open.
    for end, step in ((least, 1), (most, -1)):
        if end is not None and abs(end) <= MOST:
            yield from (_typed(end, integers), _typed(end + step, integers)) if integers else (float(end),)


def _windows(least: float | None, most: float | None) -> list[tuple[float, float]]:
    """Return the parts of a range to draw from: all of a small range, otherwise the part next to a bound."""
    if least is None:
        return [(most - NEAR, most)] if most is not None else []
    if most is None or most - least > MOST:
        return [(least, least + NEAR)]
    return [(least, most)]


def _near(anchor: float, integers: bool, rng: Rng) -> Iterator[int | float]:
    """Yield numbers of the same sign and about the same size; without documentation only these are likely legal."""
    if integers:
        number = int(anchor)
        step = 1 if number >= 0 else -1
        yield from (
            near for near in (number + step, number - step, 2 * number) if near * number > 0 and abs(near) <= MOST
        )
        if number == 0:
            yield 1
    elif anchor:
        yield from (anchor * 0.5, anchor * 2.0, round(anchor * rng.uniform(0.5, 1.5), 6))


def _typed(number: float, integers: bool) -> int | float:
    return math.floor(number) if integers else float(number)


def _placed(parameter: Parameter, current: object, drawn: list[int | float], rng: Rng) -> Iterator[Any]:
    """Yield numbers as the value, or in the place of one item if the value is a sequence."""
    if isinstance(current, list | tuple) and current:
        for number in drawn:
            yield _with_item(current, rng.below(len(current)), number)
    elif parameter.structure != "list":
        yield from drawn
    if not isinstance(current, list | tuple) and drawn and (base := numbers(current)):
        kind: type[list[Any]] | type[tuple[Any, ...]] = list if parameter.structure == "list" else tuple
        for length in parameter.lengths:
            yield kind([*base * (length - 1), rng.choice(drawn)])


def _with_item(values: list[Any] | tuple[Any, ...], place: int, item: float) -> Any:
    return type(values)([*values[:place], item, *values[place + 1 :]])


def some(parameter: Parameter) -> str | None:
    """Return a small legal value for a parameter without a known value; None if no value is legal."""
    near = (1, 1.0, 2, 0.5) if parameter.dtype in ("int", "float") else ()
    least, most, integers = legal_range(parameter)
    ends = [_typed(math.ceil(end), integers) for end in (least, most) if end is not None]
    pool = [*parameter.known_values, *parameter.choices, *near, *ends, *([False] * (parameter.dtype == "bool"))]
    return next((written(value) for value in pool if is_legal(parameter, value)), None)


class Outside(NamedTuple):
    """A value that the documentation rules out, with the words that do so."""

    value: Any
    why: str


def outside(parameter: Parameter, current: object, rng: Rng) -> list[Outside]:
    """Return values just outside of each documented bound, without bounds that a working value contradicts."""
    found = [
        Outside(value, bound.text)
        for bound in documented_constraints(parameter, *LOWER, *UPPER)
        # A sentence of which one bound is contradicted is misread.
        if is_within((each for each in parameter.bounds if each.text == bound.text), current, *parameter.known_values)
        for value in _in_place(parameter, current, _past(bound, takes_integers(parameter, current)), rng)
    ]
    found += [*_no_choice(parameter, current), *_too_long(parameter, current)]
    return [each for each in found if written(each.value) not in map(written, (current, *parameter.known_values))]


def _past(constraint: Constraint, integers: bool) -> int | float:
    """Return the nearest integer outside; for floats, a number far enough outside for any rounding."""
    bound, step = float(constraint.bounds[0]), -1 if constraint.kind in LOWER else 1
    is_open = constraint.kind in ("above", "below")
    if integers:
        nearest = math.floor(bound) if step < 0 else math.ceil(bound)
        return nearest if is_open or nearest != bound else nearest + step
    return float(bound) if is_open else round(bound + step * max(0.1, abs(bound) * 0.1), 6)


def _in_place(parameter: Parameter, current: object, number: float, rng: Rng) -> Iterator[Any]:
    if isinstance(current, list | tuple) and numbers(current):
        place = rng.choice([place for place, item in enumerate(current) if numbers(item)])
        yield _with_item(current, place, number)
    elif numbers(current) or parameter.structure not in ("list", "tuple"):
        yield number


def _no_choice(parameter: Parameter, current: object) -> Iterator[Outside]:
    choices = [choice for choice in parameter.choices if isinstance(choice, str)]
    tried = [value for value in (current, *parameter.known_values) if isinstance(value, str)]
    said = documented_constraints(parameter, "choices")
    if choices and said and all(is_choice(parameter, value) for value in tried):
        yield Outside(f"no_{max(choices, key=len)}", said[0].text)


def _too_long(parameter: Parameter, current: object) -> Iterator[Outside]:
    """Yield a sequence that is one item longer than the longest legal one; the items are legal."""
    tried = [value for value in (current, *parameter.known_values) if isinstance(value, list | tuple)]
    said = documented_constraints(parameter, "lengths")
    legal_lengths = all(len(value) in parameter.lengths for value in tried)
    if said and legal_lengths and isinstance(current, list | tuple) and current:
        longest = max(parameter.lengths) + 1
        yield Outside(type(current)([*current, *[current[-1]] * longest][:longest]), said[0].text)
