"""Names that a module reads before it binds them, by analysis of its syntax tree."""

from __future__ import annotations

import ast
import symtable
from collections import defaultdict
from collections.abc import Iterator


def unbound_names(code: str) -> tuple[str, ...]:
    """Names that a module reads before it binds them, in order of first use, with those that Python itself provides.

    A function's body is read when it is called: it may use whatever the module binds anywhere. Raises SyntaxError.
    """
    bound: set[str] = set()
    statements = [(node, _table(code, node)) for node in ast.parse(code).body]
    everything = {name for _, table in statements for name in _bound(table)}
    free: dict[str, None] = {}
    for node, table in statements:
        now, later = _read(node, table)
        free |= dict.fromkeys(name for name in now if name not in bound)
        free |= dict.fromkeys(name for name in later if name not in everything)
        bound |= _bound(table)
    return tuple(free)


class Uses(ast.NodeVisitor):
    """How a module uses names before it binds them: which it calls, which it only passes on, what it reads of each."""

    def __init__(self, code: str) -> None:
        self.called: set[str] = set()
        self.attributes: defaultdict[str, set[str]] = defaultdict(set)
        self.passed: set[str] = set()
        self._own: set[str] = set()
        for node in ast.parse(code).body:
            self.visit(node)
            self._own |= _bound(_table(code, node))

    def visit_Call(self, node: ast.Call) -> None:
        """A call: its callee is no plain value."""
        if isinstance(node.func, ast.Name):
            self._note(self.called, node.func.id)
        else:
            self.visit(node.func)
        for part in (*node.args, *node.keywords):
            self.visit(part)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """An attribute of a name."""
        if isinstance(node.value, ast.Name):
            if node.value.id not in self._own:
                self.attributes[node.value.id].add(node.attr)
        else:
            self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        """A name by itself."""
        if isinstance(node.ctx, ast.Load):
            self._note(self.passed, node.id)

    def _note(self, kind: set[str], name: str) -> None:
        if name not in self._own:
            kind.add(name)

    def is_value(self, name: str) -> bool:
        """Whether a name is only ever passed on, so that nothing shows it to be a function or a module."""
        return name in self.passed and name not in self.called and name not in self.attributes


def _table(code: str, node: ast.stmt) -> symtable.SymbolTable:
    """The names of one top-level statement; its lines may be those of others, too, unless it has decorators."""
    first = min((each.lineno for each in getattr(node, "decorator_list", [])), default=0)
    lines = "\n".join(code.split("\n")[first - 1 : node.end_lineno]) if first else ast.get_source_segment(code, node)
    return symtable.symtable(f"{lines}\n", "<seed>", "exec")


def _read(node: ast.stmt, table: symtable.SymbolTable) -> tuple[list[str], list[str]]:
    """Global names that a statement reads when it runs, and those read inside functions that it defines."""
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)]
    own = set() if isinstance(node, (ast.Assign, ast.AnnAssign)) else _bound(table)
    here = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()} - own
    deferred = set(_global_reads(table))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return [node.target.id, *(name for name in names if name in here)], []
    return [name for name in names if name in here], [name for name in names if name in deferred]


def _global_reads(table: symtable.SymbolTable) -> Iterator[str]:
    for child in table.get_children():
        yield from (
            symbol.get_name() for symbol in child.get_symbols() if symbol.is_global() and symbol.is_referenced()
        )
        yield from _global_reads(child)


def _bound(table: symtable.SymbolTable) -> set[str]:
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
