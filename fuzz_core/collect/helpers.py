"""Files that a seed needs beside itself: modules of its project, `conftest.py`, data files that it names."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from fuzz_core.collect.files import read_python

MAX_NAME = 200
_INSTALLED = ("site-packages", "dist-packages")


class Helpers:
    """Helper files of the seeds below a root.

    A seed has changed if one of its helper files has.

    An absolute import is looked up beside the seed and in the directories above it (and their `src`), the nearest
    first. The nearest match is in the seed's own project.

    Args:
        foreign: packages that are no part of a project even if their sources are in it, as those of the library under
            test.
    """

    def __init__(self, root: Path, foreign: Collection[str] = ()) -> None:
        self.root = (root if root.is_dir() else root.parent).absolute()
        self._foreign = frozenset(foreign)
        self._homes: dict[tuple[Path, str], Path | None] = {}
        self._trees: dict[Path, ast.Module | None] = {}
        self._digests: dict[Path, bytes] = {}

    def digest(self, path: Path, tree: ast.Module, conftest: bool = False) -> str:
        """Return 128 bits in hex over the helpers of a file, found through each other; empty if it has none.

        Args:
            conftest: whether the file is run by pytest, which reads `conftest.py` of all its directories.
        """
        path = path.absolute()
        home = path.parent
        found: dict[Path, None] = {}
        waiting = [*self._named(path, tree, home), *(_conftests(home) if conftest else ())]
        while waiting:
            helper = waiting.pop()
            if helper == path or helper in found:
                continue
            found[helper] = None
            read = self._tree(helper)
            if read is not None:
                waiting += self._named(helper, read, home)
        return self._over(sorted(found))

    def _over(self, helpers: Sequence[Path]) -> str:
        state = blake2b(digest_size=16)
        for helper in helpers:
            # The path is relative to the root, so that the root's place on this machine does not count.
            place = os.path.relpath(helper, self.root)
            state.update(blake2b(place.encode("utf-8", "surrogateescape"), digest_size=16).digest())
            state.update(self._content(helper))
        return state.hexdigest() if helpers else ""

    def _content(self, path: Path) -> bytes:
        if path not in self._digests:
            try:
                data = path.read_bytes()
            except OSError:
                data = b""
            self._digests[path] = blake2b(data, digest_size=16).digest()
        return self._digests[path]

    def _tree(self, path: Path) -> ast.Module | None:
        if path.suffix != ".py":
            return None
        if path not in self._trees:
            # An unreadable file counts as a problem of the seed when the seed is traced.
            read = read_python(path, [])
            self._trees[path] = None if read is None else read[1]
        return self._trees[path]

    def _named(self, path: Path, tree: ast.Module, home: Path) -> Iterator[Path]:
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        yield from self._absolute(home, alias.name)
                case ast.ImportFrom(module=module, names=names, level=0) if module:
                    for alias in names:
                        yield from self._absolute(home, f"{module}.{alias.name}")
                case ast.ImportFrom(module=module, names=names, level=level):
                    start = path.parents[min(level, len(path.parents)) - 1]
                    for alias in names:
                        yield from _modules(start, f"{module}.{alias.name}" if module else alias.name)
                case ast.Constant(value=str(name)) if "." in name and len(name) <= MAX_NAME and name.isprintable():
                    yield from self._data(path.parent / name)

    def _absolute(self, home: Path, name: str) -> Iterator[Path]:
        first = name.partition(".")[0]
        if (home, first) not in self._homes:
            places = (place for folder in _upwards(home) for place in (folder, folder / "src"))
            self._homes[home, first] = next(
                (p for p in places if first not in self._foreign and _holds(p, first)), None
            )
        start = self._homes[home, first]
        return _modules(start, name) if start is not None else iter(())

    def _data(self, path: Path) -> Iterator[Path]:
        if path.is_file() and path.resolve().is_relative_to(self.root.resolve()):
            yield path


def _upwards(home: Path) -> Iterator[Path]:
    """Yield a directory and those above it that may be in one project; installed packages are not one project."""
    for folder in (home, *home.parents):
        if folder.name in _INSTALLED:
            return
        yield folder


def _conftests(home: Path) -> Iterator[Path]:
    for folder in _upwards(home):
        if (folder / "conftest.py").is_file():
            yield folder / "conftest.py"


def _holds(folder: Path, name: str) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()


def _modules(start: Path, name: str) -> Iterator[Path]:
    """Yield the existing files of a dotted name and of the packages it lies in."""
    place = start
    for part in name.split("."):
        place = place / part
        for path in (place / "__init__.py", place.with_name(f"{part}.py")):
            if path.is_file():
                yield path
