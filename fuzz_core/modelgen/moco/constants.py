"""Expressions as values and back. An expression is computed from its syntax and never executed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from fuzz_core.adapters.literals import literal

MAX_SOURCE = 2000
MAX_EXPONENT = 128
MAX_NUMBER = 1 << MAX_EXPONENT


class Opaque(NamedTuple):
    """A named object in a program that has no value here: `torch.float32`, `nn.ReLU()`, `width`."""

    source: str


@lru_cache(maxsize=8192)
def parsed(source: str) -> ast.expr:
    """Parse an expression.

    Raises:
        ValueError: the text is no expression, or too long.
    """
    if len(source) > MAX_SOURCE:
        raise ValueError("too long")
    try:
        return ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("no expression") from error


def meaning(source: str) -> Any:
    """Return the constant that an expression stands for, with its arithmetic computed; an Opaque if it is none."""
    try:
        return constant(parsed(source))
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return Opaque(_spaced(source))


def _spaced(source: str) -> str:
    try:
        return ast.unparse(parsed(source))
    except (ValueError, RecursionError):
        return source.strip()


def written(value: object) -> str:
    """Return the source of a constant, so that `meaning` returns it again."""
    if isinstance(value, Opaque):
        return value.source
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))}{',' * (len(value) == 1)})"
    if isinstance(value, list):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{written(key)}: {written(item)}' for key, item in value.items())}}}"
    return "..." if value is ... else literal(value)  # type: ignore[arg-type]


def same(one: object, other: object) -> bool:
    """Return whether two constants are equal, type by type: 1, 1.0 and True all differ."""
    return written(one) == written(other)


TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float,),
    "bool": (bool,),
    "str": (str,),
    "tuple": (tuple, list),
    "list": (tuple, list),
}
COMPARES: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
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
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}


def constant(node: ast.expr, names: Mapping[str, Any] = {}) -> Any:
    """Compute the value of an expression's syntax.

    Lists of numbers and tuples of them compare as equal.

    Args:
        names: values of the names in it.

    Raises:
        ValueError, TypeError, ArithmeticError: the expression is no constant, or has no value for these names.
    """

    def of(part: ast.expr) -> Any:
        return constant(part, names)

    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Tuple(elts=items):
            return tuple(map(of, items))
        case ast.List(elts=items):
            return list(map(of, items))
        case ast.Dict(keys=keys, values=items) if None not in keys:
            return {of(key): of(item) for key, item in zip(keys, items, strict=True) if key is not None}
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not of(operand)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in UNARY:
            return UNARY[type(op)](_number(of(operand)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return _calculated(op, _number(of(left)), _number(of(right)))
        case ast.BoolOp(op=op, values=parts):
            return (all if isinstance(op, ast.And) else any)(map(of, parts))
        case ast.Compare(left=first, ops=ops, comparators=others) if all(type(op) in COMPARES for op in ops):
            parts = [_comparable(of(each)) for each in (first, *others)]
            return all(COMPARES[type(op)](*pair) for op, *pair in zip(ops, parts, parts[1:], strict=False))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))], keywords=[]):
            return float(text)
        case ast.Call(func=ast.Name(id="len"), args=[part], keywords=[]):
            return len(of(part))
        case ast.Call(func=ast.Name(id="isinstance"), args=[part, kinds], keywords=[]):
            return isinstance(of(part), isinstance_types(kinds))
    raise ValueError("no constant")


def isinstance_types(node: ast.expr) -> tuple[type, ...]:
    """Return the types that the second argument of `isinstance` names.

    Raises:
        ValueError: any but TYPES.
    """
    listed = node.elts if isinstance(node, ast.Tuple) else [node]
    if not listed or not all(isinstance(name, ast.Name) and name.id in TYPES for name in listed):
        raise ValueError(f"isinstance knows {', '.join(TYPES)} alone")
    return tuple(chain.from_iterable(TYPES[name.id] for name in listed if isinstance(name, ast.Name)))


def _comparable(value: Any) -> Any:
    return tuple(map(_comparable, value)) if isinstance(value, list | tuple) else value


def _number(value: object) -> Any:
    """Return a number for arithmetic, and refuse other types: text repeated a billion times is no constant."""
    if not isinstance(value, int | float | complex) or (isinstance(value, int) and abs(value) > MAX_NUMBER):
        raise ValueError("no number, or too large")
    return value


def _calculated(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(op, ast.Pow) and (isinstance(right, complex) or abs(right) > MAX_EXPONENT):
        raise ValueError("too large a power")
    return BINARY[type(op)](left, right)
