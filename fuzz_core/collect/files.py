"""Files of directories that users name; unreadable files count as problems."""

from __future__ import annotations

import ast
import os
import tokenize
import warnings
from collections.abc import Callable, Iterator, MutableSequence
from pathlib import Path

from fuzz_core.ir.errors import UserError

Problems = MutableSequence[tuple[str, str]]
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages"})


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
