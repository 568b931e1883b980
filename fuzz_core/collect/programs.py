"""Developer tests and model programs: of any directory, and those that come with nightfuzz, wheels and packages."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from fuzz_core.adapters.library import library_of
from fuzz_core.collect.files import Helpers, Problems, provenance, read_python, walk
from fuzz_core.collect.packages import package_programs
from fuzz_core.collect.sources import Kind, Request, Seed, SourceName
from fuzz_core.programs.texts import traced_programs

_PATTERNS = ("test_*.py", "*_test.py")
_NO_PROGRAMS = frozenset({"setup.py", "conftest.py", "__init__.py"})


def is_test_file(name: str) -> bool:
    """Return whether pytest collects a file of this name."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _PATTERNS)


class TestsSource:
    """Source of a seed per test file and database entry."""

    __test__ = False

    def shipped(self, request: Request) -> Iterator[Seed]:
        """Yield database entries, then tests in wheels."""
        yield from (Seed("tests", name, code, "database") for name, code in request.database)
        for package in library_of(request.library).tested_packages:
            if package in request.packages:
                yield from _tests(request.packages[package], request, f"{package} package")

    def own(self, request: Request) -> Iterator[Seed]:
        """Yield a seed per test file of the user's directories.

        A file with a syntax error or in an unknown encoding is a counted problem, and so is a directory without tests.

        Raises:
            UserError: a missing directory.
        """
        for root in request.tests_dirs:
            seeds = list(_tests(root, request, "tests"))
            yield from seeds
            if not seeds:
                request.problems.append((str(root), f"holds no usable test files ({', '.join(_PATTERNS)})"))


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
            yield from _seeds("models", root, request, programs_in(root, request.problems))


class PythonFile(NamedTuple):
    """A Python file of a directory: its path, the same relative to the directory, its text and its tree."""

    path: Path
    relative: str
    code: str
    tree: ast.Module


def programs_in(root: Path, problems: Problems) -> Iterator[PythonFile]:
    """Yield the programs of a directory, or the file.

    Raises:
        UserError: there is no such directory.
    """
    found = _python_files(root, _may_be_program, "models", problems)
    return (each for each in found if does_something(each.tree))


def _python_files(root: Path, wanted: Callable[[str], bool], what: str, problems: Problems) -> Iterator[PythonFile]:
    for path, relative in walk(root, wanted, what):
        read = read_python(path, problems)
        if read is not None:
            yield PythonFile(path, relative, *read)


def _tests(root: Path, request: Request, what: str) -> Iterator[Seed]:
    return _seeds("tests", root, request, _python_files(root, is_test_file, what, request.problems))


def _seeds(source: SourceName, root: Path, request: Request, files: Iterable[PythonFile]) -> Iterator[Seed]:
    helpers = Helpers(root, {request.library, *request.packages})
    kind: Kind = "tests" if source == "tests" else "script"
    for each in files:
        name, needs = provenance(root, each.relative), helpers.digest(each.path, each.tree, conftest=kind == "tests")
        yield Seed(source, name, each.code, kind, str(each.path.absolute()), each.relative, needs)


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
