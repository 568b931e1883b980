"""The connection under the tables' methods: transactions, rows, text and JSON, SQLite's errors in the user's words."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, Self, TypeVar, get_args, get_origin, get_type_hints

from sqlite_utils import Database

from fuzz_core.ir import codec
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase

Record = TypeVar("Record", bound=NamedTuple)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Base:
    """An open state file.

    WAL with synchronous=NORMAL: what is committed survives a SIGKILL at any instant; a power failure may take the
    newest transactions but never damages the file.
    """

    def __init__(
        self, path: Path, db: Database, clock: Callable[[], datetime], on_close: Callable[[], None] = lambda: None
    ) -> None:
        self.path = path
        self._db = db
        self._clock = clock
        self._on_close = on_close
        self._inode = file_identity(path)
        self._rescued = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and give the lock back.

        Closing twice is fine.
        """
        self._db.close()
        self._on_close()

    def _now(self) -> str:
        return self._clock().isoformat(timespec="milliseconds")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with user_errors(self.path), self._db.atomic():
            yield
        self._check_still_there()

    def _check_still_there(self) -> None:
        """Raise UserError if the file was deleted.

        SQLite would go on writing into the deleted file, and its rows would be lost.
        """
        if not self._rescued and file_identity(self.path) != self._inode:
            self._rescued = True
            raise gone(self.path, copy_database(self.path, self._db))

    def _each(self, sql: str, *parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield rows one by one, for results that are larger than what is made of them."""
        with user_errors(self.path):
            yield from self._db.query(sql, parameters)

    def _rows(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        return list(self._each(sql, *parameters))

    def _records(self, kind: type[Record], sql: str, *parameters: Any) -> list[Record]:
        """Return rows as records: a field is read from the column of its name (see `_READERS`)."""
        readers = _readers(kind)
        return [
            kind._make(None if row[name] is None else read(row[name]) for name, read in readers)
            for row in self._rows(sql, *parameters)
        ]

    def _numbered(self, kind: type[Record], what: str, number: int, sql: str, remedy: str = "") -> Record:
        """Return the record of this number.

        Raises:
            UserError: no row has this number.
        """
        for record in self._records(kind, sql, number):
            return record
        raise UserError(f"the state file {self.path} has no {what} {number}", remedy)

    def _insert(self, table: str, *, verb: str = "INSERT", **cells: Any) -> int | None:
        """Add a row inside a transaction.

        Returns:
            Its number, or None where `verb` ignores the row.
        """
        sql = f"{verb} INTO {table} ({', '.join(cells)}) VALUES ({', '.join('?' * len(cells))})"
        cursor = self._db.conn.execute(sql, tuple(map(stored, cells.values())))
        return cursor.lastrowid if cursor.rowcount else None

    def _insert_all(self, table: str, rows: Iterable[Sequence[Any]], verb: str = "INSERT OR IGNORE") -> None:
        """Add whole rows inside a transaction, cells in the order of the table's columns."""
        for row in rows:
            sql = f"{verb} INTO {table} VALUES ({', '.join('?' * len(row))})"
            self._db.conn.execute(sql, tuple(map(stored, row)))

    def _update(self, table: str, number: int, **cells: Any) -> None:
        """Change the row of this number inside a transaction."""
        sql = f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in cells)} WHERE id = ?"
        self._db.execute(sql, (*map(stored, cells.values()), number))


def text(value: str) -> str:
    """Return text that SQLite can store: lone surrogates (a worker may send them) become escapes."""
    return value.encode("utf-8", "backslashreplace").decode()


def digest_of(*parts: str) -> str:
    """Return 128 bits over texts, as hexadecimal digits."""
    return blake2b(text("\x1f".join(parts)).encode(), digest_size=16).hexdigest()


def to_json(value: Any) -> str:
    """Return compact JSON with sorted keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def stored(value: Any) -> Any:
    """Return a value as a cell holds it: text and numbers as they are, everything else as JSON."""
    match value:
        case str():
            return text(value)
        case TestCase():
            return to_json(codec.encode_test(value))
        case Mapping():
            return to_json(dict(value))
        case tuple() | list():
            return to_json(value)
    return value


# How a cell is read that becomes a value of this type. The counterpart of `stored`.
_READERS: dict[Any, Callable[[Any], Any]] = {
    bool: bool,
    int: int,
    tuple: lambda cell: tuple(json.loads(cell)),
    dict: json.loads,
    Mapping: json.loads,
    Outcome: lambda cell: Outcome.from_json(json.loads(cell)),
    Verdict: lambda cell: Verdict(*json.loads(cell)),
    TestCase: lambda cell: codec.decode_test(json.loads(cell)),
    Invocation: lambda cell: codec.decode_invocation(json.loads(cell)),
}


@cache
def _readers(kind: type[Any]) -> list[tuple[str, Callable[[Any], Any]]]:
    """Return the fields of a record, and how they are read: as their types say, or as they are."""
    hints = get_type_hints(kind).items()
    # An optional field stands for the type in its union.
    plain = [(name, get_args(hint)[0] if get_origin(hint) is UnionType else hint) for name, hint in hints]
    return [(name, _READERS.get(get_origin(hint) or hint, lambda cell: cell)) for name, hint in plain]


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code of an error; 0 where Python raised it by itself."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_corrupt(error: sqlite3.Error) -> bool:
    """Return whether the file is damaged or no database at all."""
    return primary_code(error) in _CORRUPT


def is_not_writable(error: sqlite3.Error) -> bool:
    """Return whether the file, or the directory for its -wal and -shm, refuses writing."""
    return primary_code(error) in _NOT_WRITABLE


@contextmanager
def user_errors(path: Path) -> Iterator[None]:
    """Turn what a user can mend (no space, no permission, another program, damage) into UserError."""
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
        return UserError(
            f"no space left for the state file {path}", "free some space and run again: the saved rows are safe"
        )
    if code == sqlite3.SQLITE_IOERR:
        return UserError(
            f"the state file {path} cannot be read or written ({error})",
            f"check the disk of {path.parent} (`df` and `dmesg`), or choose another directory with --state",
        )
    if code in _NOT_WRITABLE:
        return not_writable(path, error)
    if code in _BUSY:
        return UserError(
            f"another program is writing to the state file {path}",
            "end that program, such as an open sqlite3 shell, and run again",
        )
    if code in _CORRUPT:
        remedy = f"run `nightfuzz trace`: it renames the file to {path.name}.corrupt-1 and begins a fresh state"
        return UserError(f"the state file {path} is damaged ({error})", remedy)
    if code == sqlite3.SQLITE_ERROR and str(error).startswith(("no such table", "no such column")):
        return UserError(
            f"the state file {path} lacks a part ({error}): another program has changed it",
            "choose another directory with --state, or restore an older copy of the file",
        )
    return None


def not_writable(path: Path, error: BaseException) -> UserError:
    """Return the error for a state file, or a directory, that cannot be written."""
    return UserError(
        f"the state file {path} cannot be written ({error})",
        f"make {path.parent} and the file writable, or choose another directory with --state",
    )


def file_identity(path: Path) -> tuple[int, int] | None:
    """Identify a file on disk, also among files of the same name; None if there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def copy_database(path: Path, db: Database) -> Path | None:
    """Copy an open database to the nearest directory that is there, else to the temporary one.

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
    """Return the error for a state file that is not where it was, and where its contents are."""
    problem = f"the state file {path} is gone: it was removed or replaced while nightfuzz worked with it"
    if kept is None:
        remedy = "run again, and do not remove or replace the state file while nightfuzz runs"
        return UserError(f"{problem}; its contents could not be saved on another disk", remedy)
    return UserError(f"{problem}; everything found so far is in {kept}", f"move that file to {path} and run again")
