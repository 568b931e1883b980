"""Repair as in section 4.1 of the FreeFuzz paper: missing imports and values are put in front of an example.

Imports come first, then values for names that the example does not bind. The paper stops here. A further step replaces
names that the library no longer has by the functions that they mean.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable
from typing import NamedTuple

from pyflakes.checker import Binding, Builtin, Checker
from pyflakes.messages import UndefinedLocal, UndefinedName

from fuzz_core.collect.names import PublicNames, stand_ins
from fuzz_core.collect.snippets import syntax_error
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
    table = stand_ins(names.library)
    body = fill_elisions(update_names(code, names, api), table)
    called = called_names(body)
    imports, values, unresolved, done = list[str](), list[str](), list[str](), set[str]()

    def add(name: str) -> None:
        """Add a line that binds a name: a usual value if it is not called, else an import, else a usual value."""
        if name in done:
            return
        done.add(name)
        known_value = name in table and name not in called
        if not known_value and (hasattr(builtins, name) or name.startswith("__")):
            return
        statement = "" if known_value else names.statement(name, api, name in called)
        if statement:
            *roots, last = statement.split("\n")
            imports.extend(line for line in roots if line not in imports)
            (imports if "import " in last else values).append(last)
        elif name in table:
            for needed in unbound_names(table[name]):
                add(needed)
            values.append(f"{name} = {table[name]}")
        else:
            unresolved.append(name)

    for name in unbound_names(body):
        add(name)
    lines = body.split("\n")
    future = [line for line in lines if line.startswith(_FUTURE)]
    rest = [line for line in lines if not line.startswith(_FUTURE)]
    return Repaired("\n".join([*future, *imports, *values, *rest]), tuple(unresolved))


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


_KEYWORD_ONLY = "tf.raw_ops"
_VERSION = re.compile(r"V\d+$")


def update_names(code: str, names: PublicNames, api: Api | None = None) -> str:
    """Replace each call of an unknown library function by a call of the function that it means.

    The meant function is the api of the page, if its name is the same but for case and underscores. If there is none,
    it is the public function of the same short name. Functions that take keywords only get their positional arguments
    named.
    """
    tree = ast.parse(code)
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    current = apply_edits(code, [edit for call in calls for edit in _edits(call, names, api, bound)])
    return current if syntax_error(current) is None else code


def _edits(call: ast.Call, names: PublicNames, api: Api | None, bound: set[str]) -> list[Edit]:
    callee = _dotted(call.func)
    if not callee or callee.partition(".")[0] in bound or call.func.lineno != call.func.end_lineno:
        return []
    current = _meant(callee, names, api)
    if not current:
        return []
    edits = [] if current == callee else [replace_expression(call.func, current)]
    return edits + _named_arguments(call, current, names)


def _meant(callee: str, names: PublicNames, api: Api | None) -> str:
    """Return the public name of the function that a call means; empty if the call may stay."""
    if names.has(callee):
        return callee if callee.startswith(_KEYWORD_ONLY) else ""
    module, _, short = callee.rpartition(".")
    if module and not names.has_module(module):
        return ""
    if api is not None and api.kind == "function" and _plain(short) == _plain(api.name.rpartition(".")[2]):
        return api.name
    return names.find(short) if module else ""


def _named_arguments(call: ast.Call, current: str, names: PublicNames) -> list[Edit]:
    params = names.params(current) if current.startswith(_KEYWORD_ONLY) else ()
    if len(call.args) > len(params) or any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    taken = {keyword.arg for keyword in call.keywords}
    return [
        Edit(argument.lineno, argument.col_offset, argument.col_offset, f"{name}=")
        for argument, name in zip(call.args, params, strict=False)
        if name not in taken
    ]


def _dotted(node: ast.expr) -> str:
    """Return a chain of attributes of a name as text; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return node.id if isinstance(node, ast.Name) else ""


def _plain(name: str) -> str:
    """Return a name without version, case and underscores, in which spellings of an op differ."""
    return _VERSION.sub("", name).replace("_", "").lower()


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


class Edit(NamedTuple):
    """New text for a stretch of one line; line counts from 1, start and end are in bytes, as in `ast`."""

    line: int
    start: int
    end: int
    text: str


def replace_expression(node: ast.expr, text: str) -> Edit:
    """Return an edit that replaces an expression of one line."""
    return Edit(node.lineno, node.col_offset, node.end_col_offset or node.col_offset, text)


def apply_edits(code: str, edits: Iterable[Edit]) -> str:
    """Apply edits that do not overlap."""
    lines = [line.encode() for line in code.split("\n")]
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.start] + edit.text.encode() + line[edit.end :]
    return b"\n".join(lines).decode()
