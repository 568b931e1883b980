"""SQLite's errors in the user's words, and what is saved of a file that was deleted under way."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlite_utils import Database

from fuzz_core.ir.errors import UserError

_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code of an error; 0 where Python raised it by itself."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_corrupt(error: sqlite3.Error) -> bool:
    """Whether the file is damaged or no database at all."""
    return primary_code(error) in _CORRUPT


def is_not_writable(error: sqlite3.Error) -> bool:
    """Whether the file, or the directory for its -wal and -shm, refuses writing."""
    return primary_code(error) in _NOT_WRITABLE


@contextmanager
def user_errors(path: Path) -> Iterator[None]:
    """Turns what a user can mend (no space, no permission, another program, damage) into UserError."""
    try:
        yield
    except sqlite3.Error as error:
        fault = _fault(error, path)
        if fault is None:
            raise
        raise fault from error


def _fault(error: sqlite3.Error, path: Path) -> UserError | None:
    code = primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return UserError(f"no space left for the state file {path}", "free some space and run again: nothing is lost")
    if code == sqlite3.SQLITE_IOERR:
        return UserError(f"the state file {path} cannot be read or written ({error})", "check the disk and its space")
    if code in _NOT_WRITABLE:
        return not_writable(path, error)
    if code in _BUSY:
        return UserError(f"another program is writing to {path}", "end it (an open sqlite3 shell?) and run again")
    if code in _CORRUPT:
        return UserError(f"the state file {path} is damaged ({error})", "run again: it is then kept aside")
    return None


def not_writable(path: Path, error: BaseException) -> UserError:
    """The error for a state file, or a directory, that cannot be written."""
    return UserError(
        f"the state file {path} cannot be written ({error})",
        f"make {path.parent} and the file writable, or choose another state directory",
    )


def place_of(path: Path) -> tuple[int, int] | None:
    """What tells one file from another of the same name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def rescue(path: Path, db: Database) -> Path | None:
    """Copies an open database to the nearest directory that is there, else to the temporary one.

    None where no disk takes it.
    """
    standing = next((parent for parent in path.parents if parent.is_dir()), Path("/"))
    for folder in (standing, Path(tempfile.gettempdir())):
        kept = folder / f"{path.stem}-rescued-{os.getpid()}{path.suffix}"
        try:
            db.execute("VACUUM INTO ?", [str(kept)])
        except sqlite3.Error:
            continue
        return kept
    return None


def gone(path: Path, kept: Path | None) -> UserError:
    """The error for a state file that is not where it was, and where its contents are."""
    problem = f"the state file {path} is gone: it was removed or replaced while nightfuzz worked with it"
    if kept is None:
        return UserError(f"{problem}, and no other disk takes its contents", "leave the state directory of a run alone")
    return UserError(f"{problem}; everything found so far is in {kept}", f"move that file to {path} and run again")
