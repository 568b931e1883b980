"""Constraints between parameters as Python expressions: read with `ast`, computed here, never executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from fuzz_core.modelgen.moco.constants import BINARY, COMPARES, UNARY, constant, isinstance_types

MAX_LENGTH = 500


def read(text: str) -> ast.expr:
    """Parse an expression of names, constants, comparisons, `and`, `or`, `not`, arithmetic, `len` and `isinstance`.

    Raises:
        ValueError: any other text; the message has the reason.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("no Python expression") from error
    _check(tree)
    return tree


def names_of(tree: ast.expr) -> set[str]:
    """Return the parameters that an expression is about."""
    calls = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    types = {id(leaf) for node in ast.walk(tree) if _is_call(node, "isinstance") for leaf in ast.walk(node.args[1])}  # type: ignore[attr-defined]
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in calls | types}


def holds(tree: ast.expr, values: Mapping[str, Any]) -> bool | None:
    """Return whether the expression is true for these values; None if a name is missing or a type does not fit.

    If some values are sequences of one length, the expression must be true for each of their elements.
    """
    known = {name: values[name] for name in names_of(tree) if name in values}
    lengths = {len(value) for value in known.values() if isinstance(value, tuple | list)}
    try:
        if not lengths or _has_structure(tree):
            return bool(constant(tree, known))
        return all(constant(tree, each) for each in _elements(known, lengths))
    except (TypeError, ValueError, ArithmeticError):
        return None


def value(tree: ast.expr, values: Mapping[str, Any]) -> Any:
    """Compute the expression.

    Raises:
        TypeError, ValueError, ArithmeticError: the expression has no value here.
    """
    return constant(tree, values)


def constants(definitions: Mapping[str, str]) -> dict[str, Any]:
    """Return expressions as Python objects, without those that are no literals."""
    found = {}
    for name, text in definitions.items():
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return found


def _elements(values: Mapping[str, Any], lengths: set[int]) -> Iterator[dict[str, Any]]:
    if len(lengths) != 1:
        raise ValueError("sequences of several lengths")
    for place in range(lengths.pop()):
        yield {name: value[place] if isinstance(value, tuple | list) else value for name, value in values.items()}


def _has_structure(tree: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) for node in ast.walk(tree))


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _check(node: ast.expr) -> None:
    match node:
        case ast.Name() | ast.Constant(value=bool() | int() | float() | str() | None):
            return
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in COMPARES for op in ops):
            parts = [left, *others]
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            pass
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY and not isinstance(op, ast.Pow):
            parts = [left, right]
        case ast.UnaryOp(op=op, operand=part) if type(op) in UNARY:
            parts = [part]
        case ast.Call(args=[part], keywords=[]) if _is_call(node, "len"):
            parts = [part]
        case ast.Call(args=[part, kinds], keywords=[]) if _is_call(node, "isinstance"):
            isinstance_types(kinds)
            parts = [part]
        case _:
            raise ValueError(f"{type(node).__name__} is not allowed in a constraint")
    for part in parts:
        _check(part)
