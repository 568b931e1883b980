"""Templates in Python. Names are replaced in the syntax tree and never in the text."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Mapping
from functools import cache, lru_cache

# Attributes of a tensor that are known before it is computed.
_TRAITS = ("shape", "dtype")


@cache
def parsed(text: str) -> ast.Module:
    """Parse a template.

    Raises:
        ValueError: the template is no Python.
    """
    try:
        return ast.parse(text.strip())
    except SyntaxError as error:
        raise ValueError(f"{text!r} is not valid Python: {error.msg}") from error


def is_expression(text: str) -> bool:
    """Return whether a template is one expression.

    Raises:
        ValueError: the template is no Python.
    """
    body = parsed(text).body
    return len(body) == 1 and isinstance(body[0], ast.Expr)


@cache
def assigned(text: str) -> frozenset[str]:
    """Return the names that a template assigns."""
    names = (node for node in ast.walk(parsed(text)) if isinstance(node, ast.Name))
    return frozenset(node.id for node in names if isinstance(node.ctx, ast.Store))


@cache
def free(text: str) -> frozenset[str]:
    """Return the names that a template needs, without Python's builtins."""
    names = {node.id for node in ast.walk(parsed(text)) if isinstance(node, ast.Name)}
    names -= {node.arg for node in ast.walk(parsed(text)) if isinstance(node, ast.arg)}
    return frozenset(name for name in names - assigned(text) if not hasattr(builtins, name))


@cache
def computed(text: str) -> frozenset[str]:
    """Return the names whose values a template needs, and not only their shape or dtype."""
    whole = {node.id: 0 for node in ast.walk(parsed(text)) if isinstance(node, ast.Name)}
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Name):
            whole[node.id] += 1
        elif isinstance(node, ast.Attribute) and node.attr in _TRAITS and isinstance(node.value, ast.Name):
            whole[node.value.id] -= 1
    return frozenset(name for name, times in whole.items() if times > 0)


def filled(text: str, meanings: Mapping[str, str]) -> str:
    """Return the template with names replaced by expressions."""
    trees = {name: _expression(meaning) for name, meaning in meanings.items() if name in text}

    class Filling(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return trees.get(node.id, node)

    return ast.unparse(Filling().visit(_copy(text)))


def without(text: str, arguments: Collection[tuple[str, str]]) -> str:
    """Return the template without the keyword arguments of these names and values."""
    tree = _copy(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            node.keywords = [each for each in node.keywords if (each.arg, ast.unparse(each.value)) not in arguments]
    return ast.unparse(tree)


def keywords(text: str) -> list[tuple[str | None, str]]:
    """Return the keyword arguments of all calls in a template, as text."""
    return [(node.arg, ast.unparse(node.value)) for node in ast.walk(parsed(text)) if isinstance(node, ast.keyword)]


def dotted(node: ast.expr) -> str:
    """Return the path of a name with its attributes, `torch.nn.Linear`; empty for another expression."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(attributes)]) if isinstance(node, ast.Name) else ""


@lru_cache(maxsize=4096)
def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _copy(text: str) -> ast.Module:
    return ast.parse(text.strip())
