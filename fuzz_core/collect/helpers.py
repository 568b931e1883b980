"""What a file needs beside itself: modules it imports from its own directory, `conftest.py`, data files it names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

from fuzz_core.collect.files import read_python

MAX_NAME = 200


class Helpers:
    """Helper files below one root (a directory, or the one file). A seed that needs a changed one has changed.

    Absolute imports are looked up where a runner finds them, beside the seed; the library under test and what else is
    installed are no helpers.
    """

    def __init__(self, root: Path) -> None:
        self.root = root if root.is_dir() else root.parent
        self._trees: dict[Path, ast.Module | None] = {}
        self._digests: dict[Path, bytes] = {}

    def digest(self, path: Path, tree: ast.Module, conftest: bool = False) -> str:
        """128 bits in hex over the helpers of a file, found through each other; empty where it has none.

        conftest: whether the file is run by pytest, which reads `conftest.py` of all its directories.
        """
        home = path.parent
        found: dict[Path, None] = {}
        waiting = [*self._named(path, tree, home), *(self._conftests(home) if conftest else ())]
        while waiting:
            helper = waiting.pop()
            if helper == path or helper in found:
                continue
            found[helper] = None
            read = self._tree(helper)
            if read is not None:
                waiting += self._named(helper, read, home)
        return self._over(home, sorted(found))

    def _over(self, home: Path, helpers: Iterable[Path]) -> str:
        state = blake2b(digest_size=16)
        empty = state.hexdigest()
        for helper in helpers:
            # From the root on: where that lies on this machine does not count.
            state.update(blake2b(helper.relative_to(self.root).as_posix().encode(), digest_size=16).digest())
            state.update(self._content(helper))
        return "" if state.hexdigest() == empty else state.hexdigest()

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
            # What cannot be read counts as a problem of the seed, when it is traced.
            read = read_python(path, [])
            self._trees[path] = None if read is None else read[1]
        return self._trees[path]

    def _conftests(self, home: Path) -> Iterator[Path]:
        for folder in (home, *home.parents):
            if folder.is_relative_to(self.root) and (folder / "conftest.py").is_file():
                yield folder / "conftest.py"

    def _named(self, path: Path, tree: ast.Module, home: Path) -> Iterator[Path]:
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        yield from self._modules(home, alias.name)
                case ast.ImportFrom(module=module, names=names, level=level):
                    start = home if not level else path.parents[min(level, len(path.parents)) - 1]
                    for alias in names:
                        yield from self._modules(start, f"{module}.{alias.name}" if module else alias.name)
                case ast.Constant(value=str(name)) if "." in name and len(name) <= MAX_NAME and name.isprintable():
                    yield from self._inside([path.parent / name])

    def _modules(self, start: Path, name: str) -> Iterator[Path]:
        """The files of a dotted name and of the packages it lies in, as far as they are there."""
        place = start
        for part in name.split("."):
            place = place / part
            yield from self._inside([place / "__init__.py", place.with_name(f"{part}.py")])

    def _inside(self, paths: Iterable[Path]) -> Iterator[Path]:
        for path in paths:
            if path.is_file() and path.resolve().is_relative_to(self.root.resolve()):
                yield path
