"""The text of a program, and the places of its syntax nodes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst
from libcst.metadata import (
    CodePosition,
    ExpressionContext,
    ExpressionContextProvider,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    Scope,
    ScopeProvider,
)

from fuzz_core.ir.errors import UserError


class Span(NamedTuple):
    """A range of the text, in characters: from the first to the one behind the last."""

    start: int
    end: int


class Source:
    """A parsed program. Raises UserError if the text is not Python."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        wrapper = MetadataWrapper(_parsed(name, text))
        self.module = wrapper.module
        wrapper.resolve_many((PositionProvider, ParentNodeProvider, ScopeProvider, ExpressionContextProvider))
        self._positions = wrapper.resolve(PositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._scopes = wrapper.resolve(ScopeProvider)
        self._contexts = wrapper.resolve(ExpressionContextProvider)
        self._children: defaultdict[cst.CSTNode, list[cst.CSTNode]] = defaultdict(list)
        for node, parent in self._parents.items():
            self._children[parent].append(node)
        self._lines = [0, *(found.end() for found in re.finditer(r"\r\n?|\n", text))]

    def span(self, node: cst.CSTNode) -> Span:
        """Returns the span of a node, without the parentheses around it."""
        found = self._positions[node]
        return Span(self._place(found.start), self._place(found.end))

    def _place(self, position: CodePosition) -> int:
        return self._lines[position.line - 1] + position.column

    def said(self, node: cst.CSTNode) -> str:
        """Returns the text of a node."""
        return self.text[slice(*self.span(node))]

    def line(self, node: cst.CSTNode) -> int:
        """Returns the line where a node begins, from 1."""
        return self._positions[node].start.line

    def line_start(self, node: cst.CSTNode) -> int:
        """Returns the offset at which the line of a node begins."""
        return self._lines[self.line(node) - 1]

    def whole(self, node: cst.BaseExpression) -> Span:
        """Returns the span of an expression, with the parentheses around it."""
        start, end = self.span(node)
        return Span(self.span(node.lpar[0]).start, self.span(node.rpar[-1]).end) if node.lpar else Span(start, end)

    def value(self, argument: cst.Arg) -> Span:
        """Returns the span of an argument's value, with its parentheses and without its name."""
        start, end = self.span(argument)
        if argument.keyword is not None:
            behind = self.text.index("=", self.span(argument.keyword).end, end) + 1
            start = end - len(self.text[behind:end].lstrip())
        return Span(start, end)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Returns the node that directly contains a node."""
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yields the nodes that contain a node, from the inside."""
        while (node := self._parents.get(node)) is not None:  # type: ignore[assignment]
            yield node

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """Returns the innermost function around a node; None outside of all functions."""
        return next((each for each in self.ancestors(node) if isinstance(each, cst.FunctionDef)), None)

    def scope(self, node: cst.CSTNode) -> Scope | None:
        """Returns the scope in which a name is looked up."""
        return self._scopes.get(node)

    def loads(self, node: cst.CSTNode) -> bool:
        """Returns whether a name or an attribute is read here."""
        return self._contexts.get(node) is ExpressionContext.LOAD

    def nodes(self, below: cst.CSTNode | None = None) -> Iterator[cst.CSTNode]:
        """Yields a node and all nodes below it, in the order of the text."""
        todo: list[cst.CSTNode] = [below or self.module]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(self.children(node)))

    def children(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """Returns the parts of a node, in the order of the text, from a cache: libcst makes its own list anew."""
        return self._children.get(node, [])


def item(node: cst.Subscript) -> int | None:
    """Returns the index of a subscript if it is a literal."""
    only = node.slice[0].slice if len(node.slice) == 1 else None
    return only.value.evaluated_value if isinstance(only, cst.Index) and isinstance(only.value, cst.Integer) else None


def _parsed(name: str, text: str) -> cst.Module:
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise UserError(f"{name} is not Python: line {error.raw_line}", "give a file that Python can run") from None
    except UnicodeEncodeError as error:
        raise UserError(f"{name} is not text: {error.reason}", "give a file that Python can run") from None
