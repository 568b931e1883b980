"""Further values for a parameter: legal ones, and values just outside of the documentation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.moco.constants import Opaque, meaning, written
from fuzz_core.modelgen.moco.facts import NumberRange, Parameter
from fuzz_core.modelgen.moco.legality import chosen, documented, known, legal, numbers, whole, within

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
    """Returns the intersection of a parameter's finite bounds; open bounds count as closed."""
    lows = [bounds.least for bounds in parameter.bounds if bounds.least is not None and math.isfinite(bounds.least)]
    highs = [bounds.most for bounds in parameter.bounds if bounds.most is not None and math.isfinite(bounds.most)]
    return Range(max(lows, default=None), min(highs, default=None), whole(parameter, (current,)))


def others(parameter: Parameter, current: object, rng: Rng) -> list[Any]:
    """Returns legal values that differ from the current one; empty if no other value is known."""
    pool = _pool(parameter, current, rng)
    found = {written(value): value for value in pool if legal(parameter, value)}
    found.pop(written(current), None)
    return list(found.values())


def _pool(parameter: Parameter, current: object, rng: Rng) -> Iterator[Any]:
    yield from map(meaning, parameter.choices)
    yield from (value for value in known(parameter) if _is_small(value, parameter))
    if isinstance(current, bool) or parameter.dtype == "bool":
        yield from (True, False)
    elif not isinstance(current, Opaque) or parameter.bounds:
        drawn = list(_numbers(parameter, current, rng))
        yield from _placed(parameter, current, drawn, rng)


def _is_small(value: object, parameter: Parameter) -> bool:
    """Returns whether a value is small enough, as a traced call may have any size. A default always is."""
    return all(abs(number) <= 4 * MOST for number in numbers(value)) or written(value) == parameter.default


def _numbers(parameter: Parameter, current: object, rng: Rng) -> Iterator[int | float]:
    least, most, integers = legal_range(parameter, current)
    anchors = [number for value in (current, *known(parameter)) for number in numbers(value) if math.isfinite(number)]
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
    """Returns the parts of a range to draw from: all of a small range, otherwise the part next to a bound."""
    if least is None:
        return [(most - NEAR, most)] if most is not None else []
    if most is None or most - least > MOST:
        return [(least, least + NEAR)]
    return [(least, most)]


def _near(anchor: float, integers: bool, rng: Rng) -> Iterator[int | float]:
    """Yields numbers of the same sign and about the same size; without documentation only these are likely legal."""
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
    """Yields numbers as the value, or in the place of one item if the value is a sequence."""
    if isinstance(current, list | tuple) and current:
        for number in drawn:
            place = rng.below(len(current))
            yield type(current)([*current[:place], number, *current[place + 1 :]])
    elif parameter.structure != "list":
        yield from drawn
    if not isinstance(current, list | tuple) and drawn and (base := numbers(current)):
        kind: type[list[Any]] | type[tuple[Any, ...]] = list if parameter.structure == "list" else tuple
        for length in parameter.shape:
            yield kind([*base * (length - 1), rng.choice(drawn)])


def some(parameter: Parameter) -> str | None:
    """Returns a small legal value for a parameter without a known value; None if no value is legal."""
    near = (1, 1.0, 2, 0.5) if parameter.dtype in ("int", "float") else ()
    least, most, integers = legal_range(parameter)
    ends = [_typed(math.ceil(end), integers) for end in (least, most) if end is not None]
    pool = [*known(parameter), *map(meaning, parameter.choices), *near, *ends, *([False] * (parameter.dtype == "bool"))]
    return next((written(value) for value in pool if legal(parameter, value)), None)


class Outside(NamedTuple):
    """A value that the documentation rules out, with the words that do so."""

    value: Any
    why: str


def outside(parameter: Parameter, current: object, rng: Rng) -> list[Outside]:
    """Returns values just outside of each documented bound, without bounds that a working value contradicts."""
    found = [
        Outside(value, bounds.origin.text)
        for bounds in parameter.bounds
        if documented(bounds.origin) and _is_kept(bounds, (current, *known(parameter)))
        for number in _beyond(bounds, whole(parameter, (current,)))
        for value in _in_place(parameter, current, number, rng)
    ]
    found += [*_no_choice(parameter, current), *_too_long(parameter, current)]
    return [each for each in found if written(each.value) not in map(written, (current, *known(parameter)))]


def _is_kept(bounds: NumberRange, values: Iterable[object]) -> bool:
    return all(within(bounds, number) for value in values for number in numbers(value))


def _beyond(bounds: NumberRange, integers: bool) -> Iterator[int | float]:
    low, high = bounds.least, bounds.most
    if low is not None and math.isfinite(low):
        yield _past(low, -1, bounds.open_least, integers)
    if high is not None and math.isfinite(high):
        yield _past(high, 1, bounds.open_most, integers)


def _past(bound: float, step: int, is_open: bool, integers: bool) -> int | float:
    """Returns the nearest integer outside; for floats, a number far enough outside for any rounding."""
    if integers:
        nearest = math.floor(bound) if step < 0 else math.ceil(bound)
        return nearest if is_open or nearest != bound else nearest + step
    return float(bound) if is_open else round(bound + step * max(0.1, abs(bound) * 0.1), 6)


def _in_place(parameter: Parameter, current: object, number: float, rng: Rng) -> Iterator[Any]:
    if isinstance(current, list | tuple) and numbers(current):
        place = rng.choice([place for place, item in enumerate(current) if numbers(item)])
        yield type(current)([*current[:place], number, *current[place + 1 :]])
    elif numbers(current) or parameter.structure not in ("list", "tuple"):
        yield number


def _no_choice(parameter: Parameter, current: object) -> Iterator[Outside]:
    choices = [choice for choice in map(meaning, parameter.choices) if isinstance(choice, str)]
    tried = [value for value in (current, *known(parameter)) if isinstance(value, str)]
    if choices and documented(parameter.choices_origin) and all(chosen(parameter, value) for value in tried):
        text = parameter.choices_origin.text if parameter.choices_origin else ""
        yield Outside(f"no_{max(choices, key=len)}", text)


def _too_long(parameter: Parameter, current: object) -> Iterator[Outside]:
    """Yields a sequence that is one item longer than the longest legal one; the items are legal."""
    tried = [value for value in (current, *known(parameter)) if isinstance(value, list | tuple)]
    if not parameter.shape or not documented(parameter.shape_origin) or not isinstance(current, list | tuple):
        return
    if current and all(len(value) in parameter.shape for value in tried):
        longest = max(parameter.shape) + 1
        text = parameter.shape_origin.text if parameter.shape_origin else ""
        yield Outside(type(current)([*current, *[current[-1]] * longest][:longest]), text)
