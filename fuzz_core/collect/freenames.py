"""Free names of a module: those that it reads before it binds them."""

from __future__ import annotations

import ast

from pyflakes.checker import Binding, Builtin, Checker
from pyflakes.messages import UndefinedLocal, UndefinedName


class _Checker(Checker):  # type: ignore[misc]
    """Analysis without builtins: examples use some of their names for values of their own."""

    def addBinding(self, node: ast.AST | None, value: Binding) -> None:  # noqa: N802 - the name is pyflakes'
        """Bind a name, unless Python does."""
        if not isinstance(value, Builtin):
            super().addBinding(node, value)


def unbound_names(code: str) -> tuple[str, ...]:
    """Return the names that a module reads before it binds them, in order of first use, builtins too.

    A function's body may use each name that the module binds anywhere.

    Raises:
        SyntaxError: the text is no Python.
    """
    found = _Checker(ast.parse(code), withDoctest=False).messages
    first = sorted((each for each in found if isinstance(each, UndefinedName | UndefinedLocal)), key=_place)
    return tuple(dict.fromkeys(each.message_args[0] for each in first))


def called_names(code: str) -> set[str]:
    """Return the names that a module calls."""
    calls = (node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    return {callee.id for callee in calls if isinstance(callee, ast.Name)}


def _place(message: UndefinedName) -> tuple[int, int]:
    return message.lineno, message.col
