"""SQLite's errors in the user's words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
