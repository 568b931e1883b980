"""Patterns of tensors, `float[N, C, H, W]` or `any[..., D]`: read with `ast`, never executed."""

from __future__ import annotations

import ast
from functools import cache
from typing import NamedTuple

from fuzz_core.modelgen.expressions import names_of, read

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
    match tree:
        case ast.Subscript(value=ast.Name(id=kind), slice=ast.Tuple(elts=parts)):
            return Pattern(kind, tuple(map(_part, parts)))
        case ast.Subscript(value=ast.Name(id=kind), slice=part):
            return Pattern(kind, (_part(part),))
    raise ValueError(f"{text!r} is not a pattern such as float[N, C, ...]")


@cache
def expression(text: str) -> ast.expr:
    """Read an expression over dimensions and parameters.

    Raises:
        ValueError: the text is no expression.
    """
    return read(text)


def _part(tree: ast.expr) -> ast.expr | None:
    if isinstance(tree, ast.Constant) and tree.value is ...:
        return None
    return read(ast.unparse(tree))
