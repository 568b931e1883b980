"""A library that compiles itself: what it needs of this machine, and the bounded place of what it compiles."""

from __future__ import annotations

import shutil
import sysconfig
from contextlib import suppress
from pathlib import Path

from fuzz_core.adapters.dialect import COMPILED_FOLDER, compiled, dialect_of
from fuzz_core.ir.errors import UserError
from fuzz_core.targets.facts import COMPILING_S, probe

COMPILER = "g++"
_HEADER = "Python.h"
# Operators lie in such a folder, whatever is above it.
_OPERATORS = "**/jit/*"


def compiles(library: str) -> bool:
    """Whether a library compiles what it runs; False for an unknown library."""
    with suppress(UserError):
        return bool(dialect_of(library).compiled)
    return False


def missing() -> dict[str, str]:
    """What is not there, with the remedy."""
    lacking = {}
    if shutil.which(COMPILER) is None:
        lacking[f"no C++ compiler ({COMPILER})"] = "on Debian: apt install g++"
    if not Path(sysconfig.get_path("include"), _HEADER).is_file():
        lacking[f"no headers of this Python ({_HEADER})"] = "on Debian: apt install python3-dev"
    return lacking


def check_compiler(library: str) -> None:
    """Raises UserError where the library compiles itself and cannot do so here: told at once, not after minutes."""
    lacking = missing() if compiles(library) else {}
    if lacking:
        raise UserError(f"{library} compiles itself: {', '.join(lacking)}", "; ".join(lacking.values()))


def make_ready(library: str, python: Path, most: int) -> None:
    """Has the library compile its core where this compiler has not yet, and drops its oldest operators above `most`
    bytes.

    A cache of the user's own, of an interpreter that was not made here, is left as it is. Raises UserError as `probe`.
    """
    if not compiles(library):
        return
    probe(python, library, COMPILING_S)
    folder = compiled(python)
    if COMPILED_FOLDER in folder.parts:
        prune(folder, most)


def prune(folder: Path, most: int) -> int:
    """Removes compiled operators, oldest first, until they take `most` bytes; how many files went.

    One that is gone is compiled again when it is needed.
    """
    states = [(path, path.stat()) for path in folder.glob(_OPERATORS) if path.is_file() and not path.is_symlink()]
    left, gone = sum(state.st_size for _, state in states), 0
    for path, state in sorted(states, key=lambda each: each[1].st_mtime):
        if left <= most:
            break
        with suppress(FileNotFoundError):
            path.unlink()
        left, gone = left - state.st_size, gone + 1
    return gone
