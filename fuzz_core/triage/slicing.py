"""What the end of a program depends on: the statements before it that bind or change what it, or one of them, names."""

from __future__ import annotations

import ast
from collections.abc import Sequence

_IMPORTS = ast.Import | ast.ImportFrom


def slice_of(program: str) -> tuple[str, ...]:
    """The statements that the last one depends on, itself among them, in order and without their layout.

    It is the static backward slice (Weiser 1981, Program slicing) of the top level, where names alone tell: whoever
    calls or sets something of an object, without a name for what comes of that, changes it. A module is taken to
    change nothing, whatever it is told. Empty where the text is no program.
    """
    return tuple(ast.unparse(each) for each in _needed(_statements(program)))


def sliced(program: str) -> str:
    """The program without the statements that its last one does not depend on; its imports stay, and its layout."""
    statements = _statements(program)
    needed = _needed(statements)
    lines: dict[bool, set[int]] = {True: set(), False: set()}
    for each in statements:
        first, last = place(each)
        lines[each in needed or isinstance(each, _IMPORTS)].update(range(first, last + 1))
    gone = lines[False] - lines[True]
    return "".join(line for number, line in enumerate(program.splitlines(keepends=True), 1) if number not in gone)


def place(statement: ast.stmt) -> tuple[int, int]:
    """The first and the last line of a statement, decorators and all, counted from 1."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)]), statement.end_lineno or 0


def _statements(program: str) -> list[ast.stmt]:
    try:
        return ast.parse(program).body
    except (SyntaxError, ValueError, RecursionError):
        return []


def _needed(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    modules = {_module(alias) for each in statements if isinstance(each, _IMPORTS) for alias in each.names}
    needed: set[str] = set()
    kept: list[ast.stmt] = []
    for statement in reversed(statements):
        bound = _bound(statement)
        if kept and not needed & (bound or _names(statement)):
            continue
        kept.append(statement)
        needed = ((needed - bound) | _names(statement, ast.Load)) - modules
    return kept[::-1]


def _module(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement gives a new meaning, and does nothing else; none where it changes what it names."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    places = [each for target in targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
    names = [each.id for each in places if isinstance(each, ast.Name)]
    return set(names) if len(names) == len(places) else set()


def _names(statement: ast.stmt, how: type[ast.expr_context] = ast.expr_context) -> set[str]:
    return {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, how)}
