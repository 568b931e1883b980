"""Expressions as values and back, and constraints between parameters.

An expression is computed from its syntax and never executed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from fuzz_core.adapters.literals import literal

# The most characters of an expression, and of a constraint.
MAX_SOURCE, MAX_LENGTH = 2000, 500
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
        raise ValueError(f"longer than {MAX_SOURCE} characters")
    try:
        return ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError("no Python expression") from error


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


def dotted(node: ast.AST) -> str:
    """Return a name or a chain of attributes of a name, with dots; empty for any other expression."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name) if before := dotted(owner):
            return f"{before}.{name}"
    return ""


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


def read(text: str) -> ast.expr:
    """Parse an expression of names, constants, comparisons, `and`, `or`, `not`, arithmetic, `len` and `isinstance`.

    Raises:
        ValueError: any other text; the message has the reason.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"longer than {MAX_LENGTH} characters")
    tree = parsed(text)
    _check(tree)
    return tree


@lru_cache(maxsize=4096)
def readable(text: str) -> ast.expr | None:
    """Return the expression that `read` returns; None for any other text."""
    try:
        return read(text)
    except ValueError:
        return None


def names_of(tree: ast.AST) -> set[str]:
    """Return the parameters that an expression of `read` is about."""
    match tree:
        case ast.Name(id=name):
            return {name}
        case ast.Call(args=[part, *_]):
            return names_of(part)
    return {name for part in ast.iter_child_nodes(tree) for name in names_of(part)}


def holds(tree: ast.expr, values: Mapping[str, Any]) -> bool | None:
    """Return whether the expression is true for these values; None if a name is missing or a type does not fit.

    If some values are sequences of one length, the expression must be true for each of their elements.
    """
    known = {name: values[name] for name in names_of(tree) if name in values}
    lengths = {len(value) for value in known.values() if isinstance(value, tuple | list)}
    try:
        if not lengths or any(isinstance(node, ast.Call) for node in ast.walk(tree)):
            return bool(constant(tree, known))
        return all(constant(tree, each) for each in _elements(known, lengths))
    except (TypeError, ValueError, ArithmeticError):
        return None


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
        case ast.Call(func=ast.Name(id="len"), args=[part], keywords=[]):
            parts = [part]
        case ast.Call(func=ast.Name(id="isinstance"), args=[part, kinds], keywords=[]):
            isinstance_types(kinds)
            parts = [part]
        case _:
            raise ValueError(f"{type(node).__name__} is not allowed in a constraint")
    for part in parts:
        _check(part)
