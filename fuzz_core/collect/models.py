"""Models: programs in any directory, the shipped set, and programs for model packages that a target has."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fuzz_core.adapters.library import KNOWN_LIBRARIES
from fuzz_core.collect.files import Problems, provenance, read_python, walk
from fuzz_core.collect.helpers import Helpers
from fuzz_core.collect.packages import package_programs
from fuzz_core.collect.seed import Request, Seed
from fuzz_core.collect.tests import is_test_file
from fuzz_core.programs.texts import traced_programs

_NO_PROGRAMS = frozenset({"setup.py", "conftest.py", "__init__.py"})


class ModelsSource:
    """Source of a seed per model program; each runs as `__main__`."""

    def shipped(self, request: Request) -> Iterator[Seed]:
        """Yield nightfuzz's own programs, then those for installed packages."""
        for name, code in traced_programs(request.library):
            yield Seed("models", f"model {name}", code, "script", relative=f"{name}.py")
        for name, code in package_programs(request.library, request.packages):
            yield Seed("models", f"package {name}", code, "script")

    def own(self, request: Request) -> Iterator[Seed]:
        """Yield a seed per program of the user's directories.

        A file is a program if it has a `__main__` part or acts at top level. A file with a syntax error is a counted
        problem.

        Raises:
            UserError: a missing directory.
        """
        for root in request.models_dirs:
            yield from _programs(root, request)

    def examples(self) -> Sequence[Request]:
        """Return the shipped sets."""
        return tuple(map(Request, KNOWN_LIBRARIES))


class ModelProgram(NamedTuple):
    """A model program of a directory: its path, the same relative to the directory, its text and its tree."""

    path: Path
    relative: str
    code: str
    tree: ast.Module


def programs_in(root: Path, problems: Problems) -> Iterator[ModelProgram]:
    """Yield the programs of a directory, or the file.

    Raises:
        UserError: there is no such directory.
    """
    for path, relative in walk(root, _may_be_program, "models"):
        read = read_python(path, problems)
        if read is not None and does_something(read[1]):
            yield ModelProgram(path, relative, *read)


def _programs(root: Path, request: Request) -> Iterator[Seed]:
    helpers = Helpers(root, {request.library, *request.packages})
    for found in programs_in(root, request.problems):
        name, needs = provenance(root, found.relative), helpers.digest(found.path, found.tree)
        yield Seed("models", name, found.code, "script", str(found.path.absolute()), found.relative, needs)


def _may_be_program(name: str) -> bool:
    return name.endswith(".py") and name not in _NO_PROGRAMS and not is_test_file(name)


def does_something(module: ast.Module) -> bool:
    """Return whether a module acts as a program: it has a `__main__` part, or a call or loop at top level."""
    return any(_acts(statement) for statement in module.body)


def _acts(statement: ast.stmt) -> bool:
    match statement:
        case ast.If() | ast.Try():
            return any(map(_acts, statement.body))
        case ast.Expr(value=value):
            return isinstance(value, (ast.Call, ast.Await))
        case _:
            return isinstance(statement, (ast.For, ast.While, ast.With))
