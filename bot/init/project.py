"""Facts about a repository: the libraries that it uses, and the folders of its tests."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fuzz_core.adapters.library import KNOWN_LIBRARIES, library_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets.spec import libraries

MOST_FILES, MOST_FOLDERS, HEAD_BYTES = 5_000, 3, 64 << 10
_NOT_OURS = re.compile(r"\..*|node_modules|site-packages|__pycache__|build|dist|venv|env|third_party|vendor")
_IMPORT = re.compile(rb"^\s*(?:import|from)\s+([A-Za-z_]\w*)", re.MULTILINE)
_TEST = re.compile(r"test_.*\.py|.*_test\.py")
_ALSO = {name: library.name for library in KNOWN_LIBRARIES.values() for name in library.followers}


class ProjectFacts(NamedTuple):
    """Facts of a project that `nightfuzz init` reads from its files.

    Attributes:
        libraries: those that can be fuzzed, the most used first.
        tests: directories, relative to the repository.
    """

    libraries: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def newest_target(self) -> str | None:
        """The newest build of the library that is used most."""
        return library_of(self.libraries[0]).newest if self.libraries else None


def repository_of(folder: Path) -> Path:
    """Return the root of the git repository around a folder.

    Raises:
        UserError: the folder lies in no git repository.
    """
    start = folder.absolute()
    for place in (start, *start.parents):
        if (place / ".git").exists():
            return place
    raise UserError(
        f"{start} is not in a git repository",
        "run `nightfuzz init` in your project, or name its folder with --into",
    )


def look_at(root: Path) -> ProjectFacts:
    """Read imports and file names; the project's code is not executed."""
    known, uses, tests = set(libraries()), Counter[str](), Counter[str]()
    for file in _sources(root):
        for name in _imports(file):
            library = _ALSO.get(name, name)
            uses[library] += library in known
        if _TEST.fullmatch(file.name):
            tests[_folder(file.relative_to(root).parent)] += 1
    used = tuple(name for name, count in uses.most_common() if count)
    return ProjectFacts(used, tuple(sorted(name for name, _count in tests.most_common(MOST_FOLDERS))))


def _sources(root: Path) -> Iterator[Path]:
    left = MOST_FILES
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not _NOT_OURS.fullmatch(name))
        for name in sorted(files):
            if name.endswith(".py"):
                yield Path(folder, name)
                left -= 1
                if not left:
                    return


def _imports(file: Path) -> set[str]:
    """Return the packages that a file names, each once."""
    try:
        with file.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except OSError:
        return set()
    return {name.decode() for name in _IMPORT.findall(head)}


def _folder(path: Path) -> str:
    """Return the topmost folder that is called tests, else the folder itself."""
    parts = path.parts
    for index, part in enumerate(parts):
        if part in {"test", "tests"}:
            return Path(*parts[: index + 1]).as_posix()
    return path.as_posix()
