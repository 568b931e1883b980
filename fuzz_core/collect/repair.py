"""The repair of section 4.1 of the FreeFuzz paper: imports that an example leaves out are put in front of it."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fuzz_core.collect.imports import ROOTS, known_imports
from fuzz_core.ir.catalogue import Api

_BUILTINS = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__"}


class Repaired(NamedTuple):
    """Code with its imports, and the free names for which none was found."""

    code: str
    unresolved: tuple[str, ...]


class Names:
    """Which statement brings a name in: conventions of the library, and the public names of a target."""

    def __init__(self, library: str, apis: Iterable[Api]) -> None:
        self._known = known_imports(library)
        self._modules: defaultdict[str, set[str]] = defaultdict(set)
        for api in apis:
            if api.kind != "method":
                for name in (api.name, *api.aliases):
                    module, _, short = name.rpartition(".")
                    self._modules[module].add(short)
        self._packages = _parents(self._modules)
        self._owners: defaultdict[str, list[str]] = defaultdict(list)
        for module in sorted(self._modules, key=lambda name: (name.count("."), len(name), name)):
            for short in self._modules[module]:
                self._owners[short].append(module)

    def statement(self, name: str, api: Api | None = None) -> str:
        """The statement that binds a free name of an example of `api`; empty where nothing is known.

        The api's own module goes before conventions (its example means its own `Dropout`), other modules come last.
        """
        homes = _homes(api)
        for module in homes:
            if name in self._modules.get(module, ()):
                return _bind(module, name)
        if name in self._known:
            return self._known[name]
        for module in homes:
            for parent in _ancestors(module):
                if name in self._modules.get(parent, ()) or f"{parent}.{name}" in self._packages:
                    return _bind(parent, name)
        return _bind(self._owners[name][0], name) if name in self._owners else self._package(name)

    def _package(self, name: str) -> str:
        found = sorted((package for package in self._packages if package.endswith(f".{name}")), key=len)
        return _bind(found[0].rpartition(".")[0], name) if found else ""


def repair(code: str, names: Names, api: Api | None = None) -> Repaired:
    """Puts the missing imports in front of code that compiles. Names that nothing is known of stay free."""
    statements: list[str] = []
    unresolved: list[str] = []
    for name in free_names(code):
        statement = names.statement(name, api)
        if statement:
            statements.extend(line for line in statement.split("\n") if line not in statements)
        else:
            unresolved.append(name)
    future, rest = _split_future(code)
    return Repaired("\n".join([*future, *sorted(statements, key=_import_order), rest]), tuple(unresolved))


def free_names(code: str) -> tuple[str, ...]:
    """Names that a module reads before it binds them, in order of first use. Raises SyntaxError.

    A function's body is read when it is called: it may use whatever the module binds anywhere.
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
    return tuple(name for name in free if name not in _BUILTINS)


def _table(code: str, node: ast.stmt) -> symtable.SymbolTable:
    """The names of one top-level statement, by the lines it stands on."""
    decorators = getattr(node, "decorator_list", [])
    start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    lines = code.splitlines()[start - 1 : node.end_lineno]
    return symtable.symtable("\n".join(lines) + "\n", "<seed>", "exec")


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


def _parents(modules: Iterable[str]) -> set[str]:
    return {parent for module in modules for parent in (module, *_ancestors(module))}


def _ancestors(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _homes(api: Api | None) -> Sequence[str]:
    """Modules that an api is public in; the class's module for a method."""
    if api is None:
        return ()
    cut = 2 if api.kind == "method" else 1
    return list(dict.fromkeys(name.rsplit(".", cut)[0] for name in (api.name, *api.aliases) if name.count(".") >= cut))


def _bind(module: str, name: str) -> str:
    """The statement for a public name. Lazy modules know their members as attributes alone: those are assigned."""
    root = module.partition(".")[0]
    if root == "tf":
        return f"{ROOTS[root]}\n{name} = {module}.{name}"
    return f"from {module} import {name}"


def _import_order(statement: str) -> tuple[bool, str]:
    return ("import " not in statement, statement)


def _split_future(code: str) -> tuple[list[str], str]:
    """Imports from `__future__`, which have to stay in front, and the rest."""
    lines = code.splitlines()
    future = [line for line in lines if line.startswith("from __future__ import ")]
    return future, "\n".join(line for line in lines if not line.startswith("from __future__ import "))
