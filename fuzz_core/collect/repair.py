"""Repair as in section 4.1 of the FreeFuzz paper: missing imports and values are put in front of an example.

Imports come first, then values for names that the example does not bind. The paper stops here. A further step replaces
names that the library no longer has by the functions that they mean.
"""

from __future__ import annotations

import ast
import builtins
from typing import NamedTuple

from fuzz_core.collect.callees import update_names
from fuzz_core.collect.edits import Edit, apply_edits, replace_expression
from fuzz_core.collect.freenames import called_names, unbound_names
from fuzz_core.collect.names import PublicNames
from fuzz_core.collect.standins import stand_ins
from fuzz_core.ir.catalogue import Api

_FUTURE = "from __future__ import "


class Repaired(NamedTuple):
    """Code with its missing imports and values, and the free names that have neither."""

    code: str
    unresolved: tuple[str, ...]


def repair(code: str, names: PublicNames, api: Api | None = None) -> Repaired:
    """Put missing imports and values in front of code.

    Raises:
        SyntaxError: the code does not compile.
    """
    values = stand_ins(names.library)
    body = fill_elisions(update_names(code, names, api), values)
    missing = _Missing(names, api, called_names(body), values)
    for name in unbound_names(body):
        missing.add(name)
    lines = body.split("\n")
    future = [line for line in lines if line.startswith(_FUTURE)]
    rest = [line for line in lines if not line.startswith(_FUTURE)]
    return Repaired("\n".join([*future, *missing.imports, *missing.values, *rest]), tuple(missing.unresolved))


def fill_elisions(code: str, values: dict[str, str]) -> str:
    """Fill in `name = ...`, `name = f(...)` and `f(name=...)` for names that have a usual value."""
    edits: list[Edit] = []
    for node in ast.walk(ast.parse(code)):
        name, value = "", None
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
        elif isinstance(node, ast.keyword):
            name, value = node.arg or "", node.value
        if value is not None and name in values and _is_elided(value):
            edits.append(replace_expression(value, values[name]))
    return apply_edits(code, edits)


def _is_elided(value: ast.expr) -> bool:
    """Return whether a value is `...`, or a call on one line whose only argument is `...`, as in `Image.open(...)`."""
    match value:
        case ast.Constant(value=constant):
            return constant is Ellipsis
        case ast.Call(args=[ast.Constant(value=constant)], keywords=[]):
            return constant is Ellipsis and value.lineno == value.end_lineno
    return False


class _Missing:
    """Lines to put in front of an example."""

    def __init__(self, names: PublicNames, api: Api | None, called: set[str], table: dict[str, str]) -> None:
        self.imports: list[str] = []
        self.values: list[str] = []
        self.unresolved: list[str] = []
        self._names, self._api, self._called, self._table = names, api, called, table
        self._done: set[str] = set()

    def add(self, name: str) -> None:
        """Add a line that binds a name: a usual value if it is not called, else an import, else a usual value."""
        if name in self._done:
            return
        self._done.add(name)
        called = name in self._called
        known_value = name in self._table and not called
        if not known_value and (hasattr(builtins, name) or name.startswith("__")):
            return
        statement = "" if known_value else self._names.statement(name, self._api, called)
        if statement:
            self._add_import(statement)
        elif name in self._table:
            self._add_value(name)
        else:
            self.unresolved.append(name)

    def _add_import(self, statement: str) -> None:
        *roots, last = statement.split("\n")
        self.imports.extend(line for line in roots if line not in self.imports)
        (self.imports if "import " in last else self.values).append(last)

    def _add_value(self, name: str) -> None:
        expression = self._table[name]
        for needed in unbound_names(expression):
            if needed != name:
                self.add(needed)
        self.values.append(f"{name} = {expression}")
