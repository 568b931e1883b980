"""Constants as source and back: what an expression of a program stands for, found from its syntax, never executed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from fuzz_core.adapters.spelling import literal

MAX_SOURCE = 2000
MAX_EXPONENT = 128
MAX_NUMBER = 1 << MAX_EXPONENT


class Opaque(NamedTuple):
    """Something that has a name in a program and no value here: `torch.float32`, `nn.ReLU()`, `width`."""

    source: str


@lru_cache(maxsize=8192)
def parsed(source: str) -> ast.expr:
    """The syntax of an expression. Raises ValueError where it is none, or too long."""
    if len(source) > MAX_SOURCE:
        raise ValueError("too long")
    try:
        return ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("no expression") from error


def meaning(source: str) -> Any:
    """The constant that an expression stands for, calculated where it is one of numbers; an Opaque where it is none."""
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
    """The source of a constant, such that `meaning` gives it back."""
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
    """Whether two constants are equal, type by type: 1, 1.0 and True are three."""
    return written(one) == written(other)


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}


def constant(node: ast.expr) -> Any:
    """The constant that a piece of syntax stands for. Raises ValueError, TypeError or ArithmeticError: none."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Tuple(elts=items):
            return tuple(map(constant, items))
        case ast.List(elts=items):
            return list(map(constant, items))
        case ast.Dict(keys=keys, values=items) if None not in keys:
            return {constant(key): constant(item) for key, item in zip(keys, items, strict=True) if key is not None}
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_number(constant(operand)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _calculated(op, _number(constant(left)), _number(constant(right)))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))], keywords=[]):
            return float(text)
    raise ValueError("no constant")


def _number(value: object) -> Any:
    if not isinstance(value, int | float | complex) or (isinstance(value, int) and abs(value) > MAX_NUMBER):
        raise ValueError("no number, or too large")
    return value


def _calculated(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(op, ast.Pow) and (isinstance(right, complex) or abs(right) > MAX_EXPONENT):
        raise ValueError("too large a power")
    return _BINARY[type(op)](left, right)
