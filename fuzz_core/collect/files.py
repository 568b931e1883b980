"""Files of directories that users name: their content, the helper files that they need, and places of seeds in them."""

from __future__ import annotations

import ast
import os
import tokenize
import warnings
from collections.abc import Callable, Collection, Iterator, MutableSequence, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from fuzz_core.ir.errors import UserError

MAX_NAME = 200
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
Problems = MutableSequence[tuple[str, str]]
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})
_INSTALLED = ("site-packages", "dist-packages")


def walk(root: Path, wanted: Callable[[str], bool], what: str) -> Iterator[tuple[Path, str]]:
    """Yield files below a directory (or the one file) whose name is wanted, with their relative path, in order.

    Hidden directories, virtual environments and caches are passed over; links to directories are not followed.

    Raises:
        UserError: there is no such directory.
    """
    if not root.exists():
        raise UserError(
            f"the {what} directory {root} does not exist", f"correct the path, or leave out this {what} directory"
        )
    if root.is_file():
        yield root, root.name
        return
    for folder, children, names in os.walk(root):
        here = Path(folder)
        children[:] = sorted(child for child in children if _entered(here / child))
        for name in sorted(names):
            if wanted(name):
                yield here / name, (here / name).relative_to(root).as_posix()


def _entered(folder: Path) -> bool:
    return not folder.name.startswith(".") and folder.name not in _SKIPPED and not (folder / "pyvenv.cfg").exists()


def provenance(root: Path, relative: str) -> str:
    """Return a file's name for messages: the root's own name and the path below it."""
    return root.name if root.is_file() else f"{root.resolve().name}/{relative}"


def read_text(path: Path, problems: Problems) -> str | None:
    """Return a text file's content as UTF-8; None, and a counted problem, if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problems.append((str(path), f"cannot be read: {error}"))
        return None


def read_python(path: Path, problems: Problems) -> tuple[str, ast.Module] | None:
    """Return a Python file's content, decoded as it declares, and its tree; else count a problem and return None."""
    try:
        with tokenize.open(path) as stream:
            code = stream.read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return code, ast.parse(code)
    except (OSError, UnicodeDecodeError) as error:
        problems.append((str(path), f"cannot be read: {error}"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problems.append((str(path), f"is not Python: {error}"))
    return None


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
        self._home = cache(self._home_of)
        self._tree = cache(_tree)
        self._content = cache(_content)

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
            read = self._tree(helper) if helper.suffix == ".py" else None
            if read is not None:
                waiting += self._named(helper, read, home)
        state = blake2b(digest_size=16)
        for helper in sorted(found):
            # The path is relative to the root, so that the root's place on this machine does not count.
            state.update(_hash(os.path.relpath(helper, self.root).encode("utf-8", "surrogateescape")))
            state.update(self._content(helper))
        return state.hexdigest() if found else ""

    def _named(self, path: Path, tree: ast.Module, home: Path) -> Iterator[Path]:
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        yield from self._absolute(home, alias.name)
                case ast.ImportFrom(module=module, names=names, level=level):
                    start = path.parents[min(level, len(path.parents)) - 1]
                    for alias in names:
                        name = f"{module}.{alias.name}" if module else alias.name
                        yield from _modules(start, name) if level else self._absolute(home, name)
                case ast.Constant(value=str(name)) if "." in name and len(name) <= MAX_NAME and name.isprintable():
                    yield from self._data(path.parent / name)

    def _absolute(self, home: Path, name: str) -> Iterator[Path]:
        start = self._home(home, name.partition(".")[0])
        return _modules(start, name) if start is not None else iter(())

    def _home_of(self, home: Path, package: str) -> Path | None:
        places = (place for folder in _upwards(home) for place in (folder, folder / "src"))
        return next((place for place in places if package not in self._foreign and _holds(place, package)), None)

    def _data(self, path: Path) -> Iterator[Path]:
        if path.is_file() and path.resolve().is_relative_to(self.root.resolve()):
            yield path


def _tree(path: Path) -> ast.Module | None:
    # An unreadable file counts as a problem of the seed when the seed is traced.
    read = read_python(path, [])
    return read and read[1]


def _content(path: Path) -> bytes:
    try:
        return _hash(path.read_bytes())
    except OSError:
        return _hash(b"")


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


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
        self._tree = cache(_tree)

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


def _line(tree: ast.Module | None, test: str, api: str) -> int:
    node: ast.AST | None = tree
    for part in test.partition("[")[0].split("::") if test else ():
        children = ast.iter_child_nodes(node) if node is not None else ()
        node = next((each for each in children if isinstance(each, _DEFINITIONS) and each.name == part), None)
    if tree is None or node is None:
        return 1
    wanted = api.rpartition(".")[2]
    calls = [each.lineno for each in ast.walk(node) if isinstance(each, ast.Call) and _called(each) == wanted]
    return min(calls, default=getattr(node, "lineno", 1))


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
