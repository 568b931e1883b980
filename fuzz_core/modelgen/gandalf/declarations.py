"""Declarations in the table of operators: patterns of tensors, and values of parameters.

A pattern is `float[N, C, H, W]` or `any[..., D]`. A parameter has a range, a list of choices, or an expression over
dimensions. All are read with `ast` and never executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.expressions import constant, names_of, read

Value = bool | int | float | str
Declared = str | tuple[Value, ...]
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")
# A multiple of this step is the same number in float32 and float64.
_STEP = 1 / 32

FLOAT, INT, BOOL, ANY, SAME = "float", "int", "bool", "any", "same"
# Values that an operator is defined for, with an expression that turns any float tensor into such values.
GUARDS = {
    "positive": "abs({0}) + 0.5",
    "above_one": "abs({0}) + 1.5",
    "unit": "{0} / (1 + abs({0}))",
    "probability": "(abs({0}) + 0.1) / (abs({0}) + 1.1)",
}
TAKEN = (FLOAT, INT, BOOL, ANY, *GUARDS)
GIVEN = (FLOAT, INT, BOOL, SAME)
# Expressions in float64 before rounding, so that both precisions start from the same numbers; {0} is the shape.
DRAWS = {
    "normal": "{rng}.standard_normal({0}) * 0.5",
    "positive": "{rng}.uniform(0.5, 1.5, {0})",
    "ones": "np.ones({0})",
    "zeros": "np.zeros({0})",
    "constant": "np.full({0}, 0.25)",
}


class Pattern(NamedTuple):
    """The pattern of a tensor, read from its text."""

    kind: str  # a class of dtypes or values, or the way in which weights are drawn
    # An expression for each dimension, and None for `...`, which stands for any number of dimensions.
    parts: tuple[ast.expr | None, ...]

    @property
    def names(self) -> set[str]:
        """The names in the pattern, without the kind."""
        return set().union(*(names_of(part) for part in self.parts if part is not None))

    @property
    def binds(self) -> bool:
        """Return whether the pattern can match a shape: it has only names and numbers, and at most one `...`."""
        plain = all(part is None or isinstance(part, ast.Name | ast.Constant) for part in self.parts)
        return plain and self.parts.count(None) < 2


@cache
def pattern(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        ValueError: the text is no pattern; the message has the problem.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{text!r} is not a pattern such as float[N, C, ...]") from error
    if not isinstance(tree, ast.Subscript) or not isinstance(tree.value, ast.Name):
        raise ValueError(f"{text!r} is not a pattern such as float[N, C, ...]")
    parts = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
    return Pattern(tree.value.id, tuple(map(_part, parts)))


expression = cache(read)


def _part(tree: ast.expr) -> ast.expr | None:
    if isinstance(tree, ast.Constant) and tree.value is ...:
        return None
    return read(ast.unparse(tree))


class ValueRange(NamedTuple):
    """A range of values, both ends included."""

    low: int | float
    high: int | float


def declaration(declared: Declared) -> tuple[Value, ...] | ast.expr | ValueRange:
    """Return the choices of a parameter, its expression, or its range.

    Raises:
        ValueError: the declaration is none of these.
    """
    if isinstance(declared, str):
        return _read_text(declared)
    if not declared:
        raise ValueError("the list of choices is empty")
    return declared


@cache
def _read_text(text: str) -> ast.expr | ValueRange:
    """Read `= C // 2`, `1..3` or `0.1..2.0`."""
    if text.strip().startswith("="):
        return expression(text.strip()[1:].strip())
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is neither a range (1..3), nor a list of choices, nor an expression (= C // 2)")
    number = float if "." in found[1] + found[2] else int
    ends = ValueRange(number(found[1]), number(found[2]))
    if ends.low > ends.high:
        raise ValueError(f"the range {text!r} is empty")
    return ends


def allows(declared: Declared, given: Value, known: Mapping[str, object]) -> bool:
    """Return whether a parameter may have this value.

    Args:
        known: the dimensions and the values of the other parameters.
    """
    match declaration(declared):
        case ast.expr() as tree:
            return bool(constant(tree, known) == given)
        case ValueRange(low, high):
            return isinstance(given, type(low)) and not isinstance(given, bool) and low <= given <= high
        case allowed:
            return given in allowed


def drawn(declared: Declared, known: Mapping[str, object], rng: Rng) -> Value:
    """Draw a legal value.

    Raises:
        ValueError, TypeError, KeyError, ArithmeticError: an expression has no value.
    """
    match declaration(declared):
        case ast.expr() as tree:
            found: Value = constant(tree, known)
            return found
        case ValueRange(int() as low, int() as high):
            return rng.between(low, high)
        case ValueRange(low, high):
            return min(high, low + round(rng.uniform(0.0, high - low) / _STEP) * _STEP)
        case allowed:
            return rng.choice(allowed)
