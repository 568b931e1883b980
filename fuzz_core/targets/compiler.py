"""What a library that compiles itself needs of the machine: a C++ compiler, and the headers of its Python."""

from __future__ import annotations

import shutil
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.errors import UserError

COMPILER = "g++"
_HEADER = "Python.h"


def compiling(libraries: Iterable[str]) -> list[str]:
    """Those of the libraries that compile what they run, sorted; of one that is unknown, nothing is known."""
    return sorted(library for library in set(libraries) if _compiles(library))


def _compiles(library: str) -> bool:
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
    lacking = missing() if compiling([library]) else {}
    if lacking:
        raise UserError(f"{library} compiles itself: {', '.join(lacking)}", "; ".join(lacking.values()))
