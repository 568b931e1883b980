"""A block alone: its call as a test case of an api (`S(b)`, MoCo 2024, section III-A3), and inputs that fit a layer.

MoCo (2024) lets an api take a block's place only if its dimensionality is the same. As a result, layers with several
tensors, or with ranks and types that no seed has, never get into a program. Here the program defines a class that makes
their inputs from the activation, in shapes with which they were seen to work. The class then adds the result to the
activation.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, TestCase, Then, Value, prim
from fuzz_core.modelgen.expressions import constant, dotted, meaning, parsed
from fuzz_core.modelgen.moco.facts import Facts
from fuzz_core.modelgen.moco.program import INPUT, Call, Fit

Public = Callable[[str], str | None]
_BUILTINS = frozenset({"bool", "int", "float", "complex", "str"})
_SEQUENCES: dict[type[ast.expr], str] = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}


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
    except (ValueError, RecursionError):
        return None
    inputs = (tensor,) if call.fit is None else tensors(call.fit, seed)
    if inputs is None:
        return None
    if facts.kind == "class":
        return TestCase(Invocation(call.api, args, kwargs, Then("__call__", inputs)), seed)
    return TestCase(Invocation(call.api, args if call.fit is None else inputs, kwargs), seed)


def _arguments(call: Call, tensor: Tensor, public: Public) -> tuple[tuple[Value, ...], tuple[tuple[str, Value], ...]]:
    values = [(name, tensor if source == INPUT else _value(parsed(source), public)) for name, source in call.arguments]
    return tuple(value for name, value in values if not name), tuple(pair for pair in values if pair[0])


def described(source: str, public: Public = str) -> Value | None:
    """Return the description of an expression, like `as_test`; None if it is no constant."""
    try:
        return _value(parsed(source), public)
    except (ValueError, RecursionError):
        return None


def _value(node: ast.expr, public: Public) -> Value:
    """Return the description of an expression.

    Raises:
        ValueError: the expression depends on the program around it.
    """
    if type(node) in _SEQUENCES:
        assert isinstance(node, ast.Tuple | ast.List | ast.Set)
        return Seq(_SEQUENCES[type(node)], tuple(_value(item, public) for item in node.elts))
    if isinstance(node, ast.Dict):
        return Map(tuple((_key(key), _value(item, public)) for key, item in zip(node.keys, node.values, strict=True)))
    if isinstance(node, ast.Name | ast.Attribute):
        return _named(dotted(node), public)
    try:
        return _constant(constant(node))
    except (ValueError, TypeError, ArithmeticError):
        return _called(node, public)


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("a key that is no text")


def _constant(value: object) -> Value:
    if isinstance(value, list | tuple):
        return Seq(type(value).__name__, tuple(map(_constant, value)))
    if value is Ellipsis:
        return Prim("ellipsis", None)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return prim(value)
    raise ValueError(str(type(value)))


def _named(path: str, public: Public) -> Ref:
    if path in _BUILTINS:
        return Ref("name", path)
    name = public(path)
    if name is None or "." not in name:
        raise ValueError(path)
    owner, _, last = name.rpartition(".")
    return Ref("dtype", last) if last in DTYPES and "." not in owner else Ref("name", name)


def _called(node: ast.expr, public: Public) -> Value:
    """Return a call as an argument: an object that is described by its construction, or a slice."""
    if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
        raise ValueError(type(node).__name__)
    args = tuple(_value(each, public) for each in node.args)
    path = dotted(node.func)
    if path == "slice" and not node.keywords and 0 < len(args) < 4:
        start, stop, step = {1: (prim(None), *args, prim(None)), 2: (*args, prim(None))}.get(len(args), args)
        return Slice(start, stop, step)
    named = _named(path, public)
    if named.kind != "name" or any(each.arg is None for each in node.keywords):
        raise ValueError(path)
    return Invocation(named.name, args, tuple((str(each.arg), _value(each.value, public)) for each in node.keywords))


CLASS = "Fitted"
# Limit for all inputs of a layer together: larger ones cost time and memory, and find no other bugs.
MOST_CELLS = 200_000
FLOAT, INDEX = "float32", "int64"


def fit_to_seen_inputs(facts: Facts, name: str, rng: Rng) -> Fit | None:
    """Return inputs with which the layer was seen to work; None if there are none, or if they are too large.

    If only the activation's type is known, the further inputs all have that type, or all are indices.
    """
    if facts.takes:
        inputs = facts.takes
    else:
        own = facts.dtypes[0] if facts.dtypes else FLOAT
        other = rng.choice((own, INDEX)) if len(facts.inputs) > 1 else own
        inputs = tuple(f"({shape}, {other if place else own!r})" for place, shape in enumerate(facts.inputs))
    cells = sum(prod(shape) for text in inputs for shape, _ in kinds(meaning(text)))
    return Fit(name, inputs, facts.kind == "function") if inputs and 0 < cells <= MOST_CELLS else None


def kinds(value: Any) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the shapes and dtypes in the value of an item of `Fit.inputs`; none if it is neither a pair nor a list."""
    match value:
        case list():
            for each in value:
                yield from kinds(each)
        case (tuple(shape), str()) if all(type(size) is int and size >= 0 for size in shape):
            yield value


def taken_out(tree: ast.Call, text: str) -> tuple[ast.Call, Fit | None]:
    """Take the layer's call out of a call that makes it fit, and return both.

    Other calls stay as they are.

    A function that is made to fit becomes a call with only its arguments besides the inputs.
    """
    inputs = tuple(ast.get_source_segment(text, each) or "" for each in tree.args[1:])
    if inputs and isinstance(tree.func, ast.Name) and all(any(kinds(meaning(each))) for each in inputs):
        match tree.args[0]:
            case ast.Call() as layer if not tree.keywords:
                return layer, Fit(tree.func.id, inputs)
            case ast.Name() | ast.Attribute() as function:
                return ast.Call(function, [], tree.keywords), Fit(tree.func.id, inputs, function=True)
    return tree, None


def tensors(fit: Fit, seed: int) -> tuple[Value, ...] | None:
    """Return descriptions of the layer's arguments, with numbers like those of CLASS: from 0 to 1, integers 0 first.

    The result is None if a dtype is unknown here.
    """
    values = [meaning(text) for text in fit.inputs]
    if any(dtype not in DTYPES for value in values for _, dtype in kinds(value)):
        return None
    return tuple(_tensor(value, seed) for value in values)


def _tensor(value: Any, seed: int) -> Value:
    if isinstance(value, list):
        return Seq("list", tuple(_tensor(each, seed) for each in value))
    shape, dtype = value
    if DTYPES[dtype].kind in ("int", "uint", "bool"):
        width = max(DTYPES[dtype].bits // 8, 1)
        return Tensor(dtype, shape, Fill("values", data=bytes([0] * width + [1] + [0] * (width - 1))))
    return Tensor(dtype, shape, Fill("uniform", 0.0, 1.0, seed))
