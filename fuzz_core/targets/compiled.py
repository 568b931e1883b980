"""What a library compiles while it runs: its core is there before work begins, and the rest takes a bounded place."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from fuzz_core.adapters.dialect import COMPILED_FOLDER, compiled, dialect_of
from fuzz_core.targets.facts import COMPILING_S, probe

# Where operators lie, whatever is above.
_OPERATORS = "**/jit/*"


def make_ready(library: str, python: Path, most: int) -> None:
    """Has the library compile its core where this compiler has not yet, and drops its oldest operators above `most`
    bytes.

    A cache of the user's own, of an interpreter that was not made here, is left as it is. Raises UserError as `probe`.
    """
    if not dialect_of(library).compiled:
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
