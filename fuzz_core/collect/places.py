"""Places of seeds in the user's own files: the line of a test, or of the call in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fuzz_core.collect.files import provenance, read_python


class FilePlace(NamedTuple):
    """A file below the base directory, as POSIX path relative to it, a line from 1, and `file.py::test`."""

    path: str
    line: int
    test: str


class FilePlaces:
    """Finds seeds by name.

    Args:
        roots: the directories that the user names.
        base: the directory that places are relative to.
    """

    def __init__(self, roots: Sequence[Path], base: Path) -> None:
        self.roots = [root.resolve() for root in roots]
        self.base = base.resolve()
        self._tree = cache(_read)

    def of(self, name: str, api: str) -> FilePlace | None:
        """Return the place where a seed such as `tests/test_loss.py::TestFocal::test_mean` calls an api, if any.

        The line is that of the call by the api's last name, else of the test, else of the file's beginning.
        """
        told, _, test = name.partition("::")
        for file in self._files(told):
            if self.base in file.parents:
                tree = self._tree(file)
                return FilePlace(file.relative_to(self.base).as_posix(), _line(tree, test, api), name)
        return None

    def _files(self, told: str) -> Iterator[Path]:
        first, _, rest = told.partition("/")
        for root in self.roots:
            file = root if root.is_file() else root / rest
            relative = "" if root.is_file() else rest
            if root.name == first and file.is_file() and provenance(root, relative) == told:
                yield file.resolve()


def _read(file: Path) -> ast.Module | None:
    found = read_python(file, [])
    return found[1] if found else None


def _line(tree: ast.Module | None, test: str, api: str) -> int:
    node: ast.AST | None = tree
    for part in test.partition("[")[0].split("::") if test else ():
        node = next((each for each in _definitions(node) if each.name == part), None)
    if tree is None or node is None:
        return 1
    wanted = api.rpartition(".")[2]
    calls = [each.lineno for each in ast.walk(node) if isinstance(each, ast.Call) and _called(each) == wanted]
    return min(calls, default=getattr(node, "lineno", 1))


def _definitions(node: ast.AST | None) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for each in ast.iter_child_nodes(node) if node is not None else ():
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield each


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
