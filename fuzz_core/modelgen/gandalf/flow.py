"""Pairs of calls in model programs where data flows from one call into the next. Programs are read, never run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from fuzz_core.modelgen.gandalf.templates import dotted

# The name of each Python operator when it is written as a call.
_WRITTEN: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
}
_IN_ORDER = ("Sequential", "ModuleList")
Kinds = frozenset[str]
NONE: Kinds = frozenset()


class Passage(NamedTuple):
    """The first and the last call that data passes in a layer; different calls in a sequence of layers."""

    entry: str
    exit: str


def comparable_name(name: str) -> str:
    """Return a name independent of a library's writing: `batch_norm` and `BatchNorm` become the same."""
    return name.rpartition(".")[2].replace("_", "").lower()


def followings(source: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of calls by their comparable names: the result of the first is an argument of the second.

    Layers are followed from the place where they are made to the place where they are called. A call of one of the
    program's own functions forms no pair with the calls inside that function.

    Raises:
        SyntaxError: the text is no Python.
    """
    tree = ast.parse(source)
    program = _Program(dict(_layers(tree)))
    for body in [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]:
        program.values = {}
        program.run(body)
    yield from program.pairs
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in _IN_ORDER:
            yield from ((one.exit, next_.entry) for one, next_ in pairwise(_in_order(node)))


def _layers(tree: ast.AST) -> Iterator[tuple[str, Passage]]:
    for node in ast.walk(tree):
        match node:
            case (
                ast.Assign(targets=[target, *_], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                yield from _bound(target, value)


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Passage]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _bound(one, other)
    elif (passage := _made(value)) is not None and (path := dotted(target)):
        yield path, passage


def _made(value: ast.expr) -> Passage | None:
    """Return the layer that an expression makes: a call of a name that is written like a class."""
    if not isinstance(value, ast.Call):
        return None
    name = dotted(value.func).rpartition(".")[2]
    if name in _IN_ORDER:
        parts = _in_order(value)
        return Passage(parts[0].entry, parts[-1].exit) if parts else None
    return Passage(comparable_name(name), comparable_name(name)) if name[:1].isupper() else None


def _in_order(call: ast.Call) -> list[Passage]:
    """Return the layers of a sequence."""
    first = call.args[0] if len(call.args) == 1 else None
    parts = first.elts if isinstance(first, (ast.List, ast.Tuple)) else call.args
    return [each for each in map(_made, parts) if each is not None]


class _Program:
    """The state while a program's bodies are read from top to bottom.

    Attributes:
        values: the kinds of calls that made the values of the names in the current body.
    """

    def __init__(self, layers: dict[str, Passage]) -> None:
        self.layers = layers
        self.values: dict[str, Kinds] = {}
        self.pairs: list[tuple[str, str]] = []

    def run(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            match statement:
                case ast.Assign(targets=[target], value=value):
                    self._set(target, self.kinds(value))
                case ast.AugAssign(target=target, op=op, value=value):
                    self._set(target, self._into(_WRITTEN.get(type(op)), [target, value]))
                case ast.Return(value=ast.expr() as value) | ast.Expr(value=value):
                    self.kinds(value)
                case ast.FunctionDef() | ast.ClassDef():
                    pass
                case _:
                    self.run(each for name in ("body", "orelse") for each in getattr(statement, name, ()))

    def kinds(self, node: ast.expr) -> Kinds:
        """Return the kinds of calls that made the value of an expression, and keep the pairs of the calls in it."""
        match node:
            case ast.Call():
                return self._called(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self._into(_WRITTEN.get(type(op)), [left, right])
            case ast.Name() | ast.Attribute() if dotted(node) in self.values:
                return self.values[dotted(node)]
            case ast.Attribute(value=value) | ast.Subscript(value=value) | ast.Starred(value=value):
                return self.kinds(value)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return self._all(parts)
        return NONE

    def _all(self, nodes: Iterable[ast.expr]) -> Kinds:
        return NONE.union(*map(self.kinds, nodes))

    def _called(self, node: ast.Call) -> Kinds:
        given = [*node.args, *(each.value for each in node.keywords)]
        passage = _made(node.func) or self.layers.get(dotted(node.func))
        if passage is not None:
            self._into(passage.entry, given)
            return frozenset([passage.exit])
        if not isinstance(node.func, ast.Attribute) or node.func.attr[:1].isupper():
            return self._all(given)
        return self._into(comparable_name(node.func.attr), [node.func.value, *given])

    def _into(self, kind: str | None, given: Sequence[ast.expr]) -> Kinds:
        sources = self._all(given)
        if kind is None:
            return sources
        self.pairs += [(source, kind) for source in sorted(sources)]
        return frozenset([kind])

    def _set(self, target: ast.expr, kinds: Kinds) -> None:
        for each in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if path := dotted(each):
                self.values[path] = kinds
