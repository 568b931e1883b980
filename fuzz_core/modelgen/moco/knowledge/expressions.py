"""Constraints between parameters as Python expressions: read with `ast`, computed here, never executed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

MAX_LENGTH = 500
_TYPES: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "tuple": (tuple, list),
    "list": (tuple, list),
}
_COMPARES: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type, Callable[[Any], Any]] = {ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos}


def read(text: str) -> ast.expr:
    """The expression, where it has nothing but names, constants, comparisons, `and`, `or`, `not`, arithmetic, `len`
    and `isinstance`. Raises ValueError with what else there is.
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
    """The parameters that an expression is about."""
    calls = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    types = {id(leaf) for node in ast.walk(tree) if _is_call(node, "isinstance") for leaf in ast.walk(node.args[1])}  # type: ignore[attr-defined]
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in calls | types}


def holds(tree: ast.expr, values: Mapping[str, Any]) -> bool | None:
    """Whether it is true of these values; None where they say nothing of it (a name is missing, a type does not fit).

    Where some are sequences of one length, it is to be true of each of their elements.
    """
    known = {name: values[name] for name in names_of(tree) if name in values}
    lengths = {len(value) for value in known.values() if isinstance(value, tuple | list)}
    try:
        if not lengths or _has_structure(tree):
            return bool(_value(tree, known))
        return all(_value(tree, each) for each in _elements(known, lengths))
    except (TypeError, ValueError, KeyError, ArithmeticError):
        return None


def value(tree: ast.expr, values: Mapping[str, Any]) -> Any:
    """What it comes to. Raises TypeError, ValueError, KeyError or ArithmeticError where these values give nothing."""
    return _value(tree, values)


def constants(definitions: Mapping[str, str]) -> dict[str, Any]:
    """Expressions as Python objects, without those that are no literals."""
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
        case ast.Compare(left=left, ops=ops, comparators=others) if all(type(op) in _COMPARES for op in ops):
            parts = [left, *others]
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            pass
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            parts = [left, right]
        case ast.UnaryOp(op=op, operand=part) if type(op) in _UNARY:
            parts = [part]
        case ast.Call(args=[part], keywords=[]) if _is_call(node, "len"):
            parts = [part]
        case ast.Call(args=[part, kinds], keywords=[]) if _is_call(node, "isinstance"):
            _kinds(kinds)
            parts = [part]
        case _:
            raise ValueError(f"{type(node).__name__} is not allowed in a constraint")
    for part in parts:
        _check(part)


def _kinds(node: ast.expr) -> tuple[type, ...]:
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    if not names or not all(isinstance(name, ast.Name) and name.id in _TYPES for name in names):
        raise ValueError(f"isinstance knows {', '.join(_TYPES)} alone")
    kinds = (_TYPES[name.id] for name in names if isinstance(name, ast.Name))
    return tuple(chain.from_iterable(kind if isinstance(kind, tuple) else (kind,) for kind in kinds))


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return values[name]
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return tuple(_value(part, values) for part in parts)
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_value(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_value(part, values) for part in parts)
        case ast.UnaryOp(op=op, operand=part):
            return _UNARY[type(op)](_value(part, values))
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_number(_value(left, values)), _number(_value(right, values)))
        case ast.Compare():
            return _compared(node, values)
        case ast.Call(args=[part]):
            return len(_value(part, values))
        case ast.Call(args=[part, kinds]):
            return isinstance(_value(part, values), _kinds(kinds))
    raise ValueError(f"{type(node).__name__} is not allowed in a constraint")


def _number(value: Any) -> Any:
    """Arithmetic is of numbers alone: text repeated a billion times is no constraint."""
    if not isinstance(value, int | float):
        raise TypeError("no number")
    return value


def _compared(node: ast.Compare, values: Mapping[str, Any]) -> bool:
    operands = [_value(each, values) for each in (node.left, *node.comparators)]
    pairs = zip(node.ops, operands, operands[1:], strict=False)
    return all(_COMPARES[type(op)](left, right) for op, left, right in pairs)
