"""A block alone: its call as a test case of an api (`S(b)`, MoCo 2024, section III-A3)."""

from __future__ import annotations

import ast
from collections.abc import Callable

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.values import Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, TestCase, Then, Value, prim
from fuzz_core.modelgen.moco.calls import activation
from fuzz_core.modelgen.moco.constants import constant, parsed
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.fit import tensors
from fuzz_core.modelgen.moco.program import Call

Public = Callable[[str], str | None]
_BUILTINS = frozenset({"bool", "int", "float", "complex", "str"})
_SEQUENCES: dict[type[ast.expr], str] = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}


class _NoValue(Exception):  # noqa: N818 - never leaves this file
    """The error for an expression without a description: it depends on the program around it."""


def as_test(
    call: Call, facts: Facts, shape: tuple[int, ...], dtype: str, seed: int, public: Public = str
) -> TestCase | None:
    """Write the block alone as a test case with uniform input: a class is made and called, a function is called.

    A block that is made to fit gets its own inputs, independent of what arrives.

    Args:
        dtype: a name of `ir.dtypes`.
        public: returns the public path for a dotted path of the program, or None if it is not the library's
            (`Names.public`).

    Returns:
        None if an argument is no constant expression (`Names.resolved` makes some of them constants), or if the dtype
        is unknown here.
    """
    if dtype not in DTYPES:
        return None
    low = -1.0 if DTYPES[dtype].kind in ("float", "complex") else 0.0
    tensor = Tensor(dtype, shape, Fill("uniform", low, 1.0, seed))
    try:
        args, kwargs = _arguments(call, tensor, public)
    except (_NoValue, RecursionError):
        return None
    inputs = (tensor,) if call.fit is None else tensors(call.fit, seed)
    if inputs is None:
        return None
    if facts.kind == "class":
        return TestCase(Invocation(call.api, args, kwargs, Then("__call__", inputs)), seed)
    return TestCase(Invocation(call.api, args if call.fit is None else inputs, kwargs), seed)


def _arguments(call: Call, tensor: Tensor, public: Public) -> tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]]:
    taken = activation(call)
    args: list[Value] = []
    kwargs: list[tuple[str, Value]] = []
    for place, argument in enumerate(call.arguments):
        value = tensor if place == taken else _parsed(argument.source, public)
        if argument.name:
            kwargs.append((argument.name, value))
        else:
            args.append(value)
    return tuple(args), tuple(kwargs)


def described(source: str, public: Public = str) -> Value | None:
    """Return the description of an expression, like `as_test`; None if it is no constant."""
    try:
        return _parsed(source, public)
    except (_NoValue, RecursionError):
        return None


def _parsed(source: str, public: Public) -> Value:
    try:
        return _value(parsed(source), public)
    except ValueError as error:
        raise _NoValue(source) from error


def _value(node: ast.expr, public: Public) -> Value:
    if type(node) in _SEQUENCES:
        assert isinstance(node, ast.Tuple | ast.List | ast.Set)
        return Seq(_SEQUENCES[type(node)], tuple(_value(item, public) for item in node.elts))
    if isinstance(node, ast.Dict):
        return Map(tuple((_key(key), _value(item, public)) for key, item in zip(node.keys, node.values, strict=True)))
    if isinstance(node, ast.Name | ast.Attribute):
        return _named(_dotted(node), public)
    try:
        return _constant(constant(node))
    except (ValueError, TypeError, ArithmeticError):
        return _called(node, public)


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _NoValue("a key that is no text")


def _constant(value: object) -> Value:
    if isinstance(value, list | tuple):
        return Seq(type(value).__name__, tuple(map(_constant, value)))
    if value is Ellipsis:
        return Prim("ellipsis", None)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return prim(value)
    raise _NoValue(str(type(value)))


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    raise _NoValue("no path")


def _named(path: str, public: Public) -> Value:
    if path in _BUILTINS:
        return Ref("name", path)
    name = public(path)
    if name is None or "." not in name:
        raise _NoValue(path)
    owner, _, last = name.rpartition(".")
    return Ref("dtype", last) if last in DTYPES and "." not in owner else Ref("name", name)


def _called(node: ast.expr, public: Public) -> Value:
    """Return a call as an argument: an object that is described by its construction, or a slice."""
    if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
        raise _NoValue(type(node).__name__)
    args = tuple(_value(each, public) for each in node.args)
    path = _dotted(node.func)
    if path == "slice" and not node.keywords and 0 < len(args) < 4:
        start, stop, step = {1: (prim(None), *args, prim(None)), 2: (*args, prim(None))}.get(len(args), args)
        return Slice(start, stop, step)
    name = _named(path, public)
    if not isinstance(name, Ref) or name.kind != "name":
        raise _NoValue(path)
    if any(each.arg is None for each in node.keywords):
        raise _NoValue("starred keywords")
    return Invocation(name.name, args, tuple((str(each.arg), _value(each.value, public)) for each in node.keywords))
