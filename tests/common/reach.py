"""The test files that a change can reach, by the imports of the code.

    python tests/common/reach.py BASE
    python tests/common/reach.py --files FILE...

prints one test file a line: each file of `tests/` from which an arrow of imports leads to a file that differs from the
commit BASE, or to one of the files. It prints `tests`, which is every test, if BASE is unknown or a changed file
belongs to no module.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = ["tests"]
# Pages are read by tests that `make test` runs each time.
PROSE = (".md", ".svg")
# The name of BASE: it is written after its tests, so it always differs from what BASE holds.
NOTE = ".ci/tested"


def changed_files(base: str, root: Path = ROOT) -> list[str] | None:
    """Returns the files that differ from a commit, relative to the root. None if git does not know the commit."""
    command = ["git", "-C", str(root), "diff", "--name-only", "--no-renames", base, "--"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.splitlines() if base and done.returncode == 0 else None


def module_of(file: str) -> str:
    """Returns the dotted name of a source file."""
    parts = Path(file).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Reach:
    """The imports of a checkout: the modules that each module and each test file imports.

    A text that names a module counts as an import: plug-in tables hold "module:attribute", and processes are started
    with `-m module`.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        # The package `nightfuzz` holds links to folders.
        self.linked = {link.name for link in (root / "nightfuzz").glob("*") if link.is_symlink()}
        self.packages = tuple(sorted({file.parent.name for file in root.glob("*/__init__.py")} - self.linked))
        self.graph = grimp.build_graph(*self.packages, cache_dir=None)
        self._add_named_modules()
        self.tests = sorted((root / "tests").rglob("*.py"))
        self.shared = {file.stem: file for file in self.tests if not file.name.startswith("test_")}

    def tests_of(self, changed: Iterable[str]) -> list[str]:
        """Returns the test files that reach a changed file, or every test if a changed file belongs to no module."""
        modules: set[str] = set()
        files: set[Path] = set()
        for name in map(self._imported, changed):
            path = self.root / name
            owner = Path(name).parts[0]
            if name == NOTE or name.endswith(PROSE):
                continue
            if owner == "tests" and self._is_library(path):
                return EVERYTHING
            if owner == "tests":
                files |= {path} if path.suffix == ".py" and path.exists() else self._below(path.parent)
            elif owner in self.packages:
                modules |= self._modules_at(name)
            else:
                return EVERYTHING
        for module in list(modules & self.graph.modules):
            modules |= self.graph.find_downstream_modules(module)
        return [str(test.relative_to(self.root)) for test in self._test_files() if self._reaches(test, modules, files)]

    def _imported(self, name: str) -> str:
        """Returns the path by which a file is imported."""
        return f"nightfuzz/{name}" if Path(name).parts[0] in self.linked else name

    def _is_library(self, path: Path) -> bool:
        """Returns whether a file belongs to a planted library, which tests start in processes of its own."""
        common = self.root / "tests" / "common"
        return path.is_relative_to(common) and path.parent != common

    def _modules_at(self, name: str) -> set[str]:
        """Returns the module of a source file; every module of its package for other files and for lost files."""
        module = module_of(name)
        if name.endswith(".py") and module in self.graph.modules:
            return {module}
        package = Path(name).parent
        while not (self.root / package / "__init__.py").exists():
            package = package.parent
            if package == Path():
                return set(self.graph.modules)
        dotted = ".".join(package.parts)
        return {dotted, *self.graph.find_descendants(dotted)}

    def _reaches(self, test: Path, modules: set[str], files: set[Path]) -> bool:
        folders = [parent for parent in test.parents if parent.is_relative_to(self.root / "tests")]
        seen = {test, *(folder / "conftest.py" for folder in folders)}
        waiting = [file for file in seen if file.exists()]
        while waiting:
            file = waiting.pop()
            if file in files:
                return True
            for name in names_in(file):
                if self._is_reached(name, modules):
                    return True
                shared = self.shared.get(name.split(".")[0])
                if shared is not None and shared not in seen:
                    seen.add(shared)
                    waiting.append(shared)
        return False

    def _is_reached(self, name: str, modules: set[str]) -> bool:
        """Returns whether a dotted name is one of the modules, or an attribute of one of them."""
        return name in modules or name.rpartition(".")[0] in modules

    def _add_named_modules(self) -> None:
        for folder in (*self.packages, *self.linked):
            for file in (self.root / folder).rglob("*.py"):
                importer = module_of(self._imported(str(file.relative_to(self.root))))
                if importer not in self.graph.modules:
                    continue
                for name in texts_in(file):
                    for module in {name, f"{name}.__main__"} & self.graph.modules - {importer}:
                        self.graph.add_import(importer=importer, imported=module)

    def _test_files(self) -> list[Path]:
        fixtures = self.root / "tests" / "fixtures"
        return [f for f in self.tests if f.name.startswith("test_") and not f.is_relative_to(fixtures)]

    def _below(self, folder: Path) -> set[Path]:
        return {file for file in self.tests if file.is_relative_to(folder)} or set(self.tests)


@cache
def names_in(file: Path) -> tuple[str, ...]:
    """Returns dotted names that a file imports or names as a text."""
    return (*_imports_in(file), *texts_in(file))


def _imports_in(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def texts_in(file: Path) -> Iterator[str]:
    """Yields texts of a file that look like a module: a dotted name, alone or before `:attribute`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            if all(part.isidentifier() for part in name.split(".")):
                yield name


def main(arguments: list[str]) -> int:
    sys.path.insert(0, str(ROOT))  # the script's own checkout, before an installed one
    if arguments[:1] == ["--files"]:
        changed: list[str] | None = arguments[1:]
    else:
        changed = changed_files(arguments[0]) if len(arguments) == 1 else None
    print("\n".join(EVERYTHING if changed is None else Reach().tests_of(changed)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
