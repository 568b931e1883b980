"""Shape inference: the result of an operator for concrete shapes and parameters, or the reason for a refusal."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from fuzz_core.modelgen.expressions import constant, holds
from fuzz_core.modelgen.gandalf.declarations import (
    ANY,
    FLOAT,
    GUARDS,
    SAME,
    Pattern,
    Value,
    allows,
    expression,
    pattern,
)
from fuzz_core.modelgen.gandalf.table import Operator

REST = "..."


class TensorShape(NamedTuple):
    """The shape and dtype of a tensor, known before it is computed."""

    shape: tuple[int, ...]
    dtype: str  # `float`, `int` or `bool`


class Made(NamedTuple):
    """The inferred result of an operator, the shapes of its weights, and the values of the names in its entry."""

    result: TensorShape
    weights: dict[str, tuple[int, ...]]
    words: dict[str, Any]


class ShapeError(ValueError):
    """The error for inputs or parameters that an operator does not take; the text says why."""


def infer(operator: Operator, inputs: Sequence[TensorShape], parameters: Mapping[str, Value]) -> Made:
    """Infer the result of an operator from its entry.

    Raises:
        ShapeError: the operator does not accept these inputs.
    """
    if len(inputs) != len(operator.takes):
        raise ShapeError(f"it takes {len(operator.takes)} inputs")
    if set(parameters) != set(operator.parameters):
        raise ShapeError("it has other parameters")
    bound: dict[str, Any] = {}
    for each, tensor in zip(operator.inputs, inputs, strict=True):
        bound = bind(each, tensor, bound)
    return concluded(operator, bound, parameters)


def concluded(operator: Operator, bound: Mapping[str, Any], parameters: Mapping[str, Value]) -> Made:
    """Infer the result if the inputs are bound already.

    Raises:
        ShapeError: the conditions have no solution.
    """
    words = words_of(bound) | dict(parameters)
    for name, declared in operator.parameters.items():
        if not allows(declared, parameters[name], words):
            raise ShapeError(f"{name} may not be {parameters[name]}")
    for text in operator.requires:
        if not holds(expression(text), words):
            raise ShapeError(f"{text} does not hold")
    weights = {name: _shape(pattern(text), bound, words) for name, text in operator.weights.items()}
    given = pattern(operator.gives)
    dtype = bound[SAME] if given.kind == SAME else given.kind
    return Made(TensorShape(_shape(given, bound, words), dtype), weights, words)


def words_of(bound: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that expressions may use: dimensions, and number and product of the dimensions of `...`."""
    rest = bound.get(REST, ())
    plain = {name: size for name, size in bound.items() if name not in (REST, SAME, ANY)}
    return plain | {"rank": len(rest), "size": prod(rest)}


def bind(found: Pattern, tensor: TensorShape, bound: Mapping[str, Any]) -> dict[str, Any]:
    """Add the values that a pattern's names have with this tensor to those bound before.

    The name `same` stands for the dtype of the first tensor, `any` for the dtype of all tensors whose dtype is free.

    Raises:
        ShapeError: the shape does not fit the pattern.
    """
    new = dict(bound)
    new.setdefault(SAME, tensor.dtype)
    if found.kind == ANY:
        _set(new, ANY, tensor.dtype)
    elif tensor.dtype != (FLOAT if found.kind in GUARDS else found.kind):
        raise ShapeError(f"{tensor.dtype} is not {found.kind}")
    for part, size in _paired(found, tensor.shape, new):
        if isinstance(part, ast.Name):
            _set(new, part.id, size)
        elif not isinstance(part, ast.Constant) or part.value != size:
            raise ShapeError(f"{ast.unparse(part)} is not {size}")
    return new


def _paired(found: Pattern, shape: tuple[int, ...], new: dict[str, Any]) -> list[tuple[ast.expr, int]]:
    """Pair expressions with sizes, and bind the sizes of `...` between the start and the end of the shape."""
    fixed, has_rest = [part for part in found.parts if part is not None], None in found.parts
    start = found.parts.index(None) if has_rest else len(fixed)
    end = len(shape) - len(fixed) + start
    if end < start or (end > start and not has_rest):
        raise ShapeError(f"{len(shape)} dimensions")
    if has_rest:
        _set(new, REST, shape[start:end])
    return list(zip(fixed, shape[:start] + shape[end:], strict=True))


def _set(bound: dict[str, Any], name: str, given: Any) -> None:
    if bound.setdefault(name, given) != given:
        raise ShapeError(f"{name} is {bound[name]}, not {given}")


def _shape(found: Pattern, bound: Mapping[str, Any], words: Mapping[str, Any]) -> tuple[int, ...]:
    shape: list[int] = []
    for part in found.parts:
        shape += bound.get(REST, ()) if part is None else [constant(part, words)]
    # Jittor has no tensors without dimensions or elements, so no graph that all libraries can compute has them.
    if not shape or not all(type(size) is int and size > 0 for size in shape):
        raise ShapeError(f"nothing has the shape {tuple(shape)}")
    return tuple(shape)
