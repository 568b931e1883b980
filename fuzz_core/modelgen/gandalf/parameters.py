"""Declarations of an operator's parameters: a range, a list of choices, or an expression over dimensions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.expressions import constant
from fuzz_core.modelgen.gandalf.patterns import expression

Value = bool | int | float | str
Declared = str | tuple[Value, ...]
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")
# A multiple of this step is the same number in float32 and float64.
_STEP = 1 / 32


@cache
def bounds(text: str) -> tuple[int, int] | tuple[float, float]:
    """Read `1..3` or `0.1..2.0`, both ends included.

    Raises:
        ValueError: the text is no range.
    """
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is neither a range (1..3), nor a list of choices, nor an expression (= C // 2)")
    low, high = found.groups()
    ends = (float(low), float(high)) if "." in low + high else (int(low), int(high))
    if ends[0] > ends[1]:
        raise ValueError(f"the range {text!r} is empty")
    return ends


def computed(declared: Declared) -> str | None:
    """Return the expression that gives a parameter; None if it is a range or a list."""
    return declared.strip()[1:].strip() if isinstance(declared, str) and declared.strip().startswith("=") else None


def check(declared: Declared) -> None:
    """Raise ValueError if the declaration is neither a range, nor choices, nor an expression."""
    if isinstance(declared, tuple):
        if not declared:
            raise ValueError("the list of choices is empty")
    elif (text := computed(declared)) is not None:
        expression(text)
    else:
        bounds(declared)


def allows(declared: Declared, given: Value, known: Mapping[str, object]) -> bool:
    """Return whether a parameter may have this value.

    Args:
        known: the dimensions and the values of the other parameters.
    """
    if isinstance(declared, tuple):
        return given in declared
    if (text := computed(declared)) is not None:
        return bool(constant(expression(text), known) == given)
    low, high = bounds(declared)
    return isinstance(given, type(low)) and not isinstance(given, bool) and low <= given <= high


def drawn(declared: Declared, known: Mapping[str, object], rng: Rng) -> Value:
    """Draw a legal value.

    Raises:
        ValueError, TypeError, KeyError, ArithmeticError: an expression has no value.
    """
    if isinstance(declared, tuple):
        return rng.choice(declared)
    if (text := computed(declared)) is not None:
        found: Value = constant(expression(text), known)
        return found
    low, high = bounds(declared)
    if isinstance(low, int) and isinstance(high, int):
        return rng.between(low, high)
    return min(high, low + round(rng.uniform(0.0, high - low) / _STEP) * _STEP)
