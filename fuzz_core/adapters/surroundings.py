"""What the processes of a target find around them: its library's variables, and where what it compiles is kept."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

from fuzz_core.adapters.dialect import DIALECTS, Dialect, dialect_of

FOLDER = "compiled"
# A folder for what all targets compile, where an environment cannot be written to.
VARIABLE = "NIGHTFUZZ_COMPILED"


def surroundings(dialect: Dialect, python: str | Path) -> dict[str, str]:
    """The library's variables, where the user has not set them; with the folder for what it compiles, if it does."""
    wanted = {**dialect.environment, **({dialect.compiled: str(compiled(python))} if dialect.compiled else {})}
    return {name: os.environ.get(name, value) for name, value in wanted.items()}


def all_surroundings(python: str | Path) -> dict[str, str]:
    """For an interpreter that is yet to say which library it holds."""
    return {name: value for library in DIALECTS for name, value in surroundings(dialect_of(library), python).items()}


def compiled(python: str | Path) -> Path:
    """In the virtual environment of the interpreter, and gone with it; else where the library itself would keep it.

    In a sandbox neither can be written to: there VARIABLE names a folder, of which each environment has a part.
    """
    environment = Path(python).absolute().parent.parent
    if VARIABLE in os.environ:
        return Path(os.environ[VARIABLE]) / blake2b(str(environment).encode(), digest_size=8).hexdigest()
    return environment / FOLDER if (environment / "pyvenv.cfg").is_file() else Path.home()
