"""Hooks around the calls and the arithmetic of a program, by which one run shows its layers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import deepcopy

Site = ast.Call | ast.BinOp | ast.AugAssign

# The functions that a program with hooks calls, and the places of operators among those that the worker knows.
CALLED, COMBINED = "__called__", "__combined__"
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.Pow, ast.FloorDiv)
# Builtin functions that look at the frame which calls them.
_BY_FRAME = frozenset(("super", "locals", "globals", "vars", "dir", "eval", "exec"))


class HookWriter(ast.NodeTransformer):
    """A transformer that puts hooks into a program.

    Attributes:
        sites: the calls and operations with a hook, as they are in the program; a hook passes the site's place here.

    Args:
        is_public: whether a dotted path of the program is an api of the library.
    """

    def __init__(self, is_public: Callable[[str], bool]) -> None:
        self.is_public = is_public
        self.sites: list[Site] = []

    def text(self, tree: ast.Module) -> str:
        """Return the source of a program with hooks."""
        return ast.unparse(self.visit(deepcopy(tree)))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave decorators, defaults and annotations as they are."""
        node.body = [self.visit(each) for each in node.body]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        """Leave texts as they are."""
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Put a hook around the function of a call."""
        place = self._site(node)
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _BY_FRAME:
            return node
        public = ast.Constant(self.is_public(dotted(node.func)))
        return ast.Call(_hook(CALLED, place, node.func, public), node.args, node.keywords)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Put a hook in the place of an operation."""
        if type(node.op) not in _OPERATORS:
            self.generic_visit(node)
            return node
        place = self._site(node)
        self.generic_visit(node)
        return _hook(COMBINED, place, ast.Constant(_OPERATORS.index(type(node.op))), node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """Put a hook in the place of an operation on a variable."""
        if type(node.op) not in _OPERATORS or not isinstance(node.target, ast.Name):
            self.generic_visit(node)
            return node
        place = self._site(node)
        self.generic_visit(node)
        number = ast.Constant(_OPERATORS.index(type(node.op)) + len(_OPERATORS))
        value = _hook(COMBINED, place, number, ast.Name(node.target.id, ast.Load()), node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def _site(self, node: Site) -> int:
        # The children of the node itself are about to get hooks.
        self.sites.append(deepcopy(node))
        return len(self.sites) - 1


def _hook(name: str, place: int, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [ast.Constant(place), *args], [])


def dotted(node: ast.AST) -> str:
    """Return a name or a chain of attributes of a name, with dots; empty for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    before = dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""
