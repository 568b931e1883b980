"""State files from jobs that ran untrusted code: checked as data, and copied row by row into a fresh file.

The file is read once, by a connection that does not trust its content, within bounds of size and time. Later steps open
only the copy, which this program has made.
"""

from __future__ import annotations

import sqlite3
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlite_utils import Database

from fuzz_core.ir.errors import UserError
from fuzz_core.store.content import PARENTS, TABLES, table_of
from fuzz_core.store.rowchecks import RefusedRow, cell, check_row, need
from fuzz_core.store.schema import APPLICATION_ID, KINDS_OF_TEXTS, NEWEST, migrate
from fuzz_core.store.statefile import NewerError, open_store

MAGIC = b"SQLite format 3\0"
MAX_BYTES = 2 << 30
MAX_VALUE = 16 << 20
# Steps of SQLite's machine by byte of the file: reading every row takes less than one.
STEPS, EVERY = 20, 100_000
BATCH = 1000
# Upper bounds for tables whose cost grows with the square of their rows, such as the likenesses of bugs.
MOST = {"targets": 500, "bugs": 5_000, "changes": 10_000, "runs": 50_000, "probes": 50_000, "checks": 200_000}
REMEDY = "run the fuzz job again with this version of nightfuzz: it writes a new state file"


class Taken(NamedTuple):
    """Rows that were taken, by table, and rows that were dropped, by reason (`table: column: reason`)."""

    rows: Mapping[str, int]
    dropped: Mapping[str, int]


class _Column(NamedTuple):
    """A column of a table of the schema."""

    name: str
    kind: str  # its type in the schema
    required: bool


def take_in(path: Path, clean: Path, known: Path | None = None, max_bytes: int = MAX_BYTES) -> Taken:
    """Copy the sound rows of an untrusted state file into `clean`, a new state file.

    Rows that no store would have written are left out and counted.

    Args:
        known: a state file of our own of the newest schema that no process has open: its rows are sound. Rows that it
            has word for word are left out, except rows that further rows refer to, so `clean` is to be merged into it.

    Raises:
        UserError: a whole file that is not ours: a link, too large, damaged, of another program, or with any table,
            column, index, trigger or view that the schema does not have.
    """
    with _reading(path, max_bytes, known) as connection:
        version = _check_schema(connection, path)
        clean.unlink(missing_ok=True)
        return _Copy(connection, known is not None and version == NEWEST).into(clean, version)


def look_over(path: Path, max_bytes: int = MAX_BYTES) -> None:
    """Check a state file as a whole, and not its rows: for one that only trusted jobs write.

    Raises:
        UserError: as `take_in`.
        NewerError: a later nightfuzz has written the file.
    """
    with _reading(path, max_bytes) as connection:
        _check_schema(connection, path)


def _looked_at(path: Path, max_bytes: int) -> int:
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise UserError(f"{path.name} is a link or a directory, not a state file", REMEDY)
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as error:
        raise UserError(f"cannot read {path.name}: {error.strerror}", REMEDY) from error
    if found.st_size > max_bytes:
        raise UserError(f"the state file {path.name} is larger than {max_bytes >> 20} MiB", REMEDY)
    if not head.startswith(MAGIC) or int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise UserError(f"{path.name} is not a state file of nightfuzz", REMEDY)
    return found.st_size


@contextmanager
def _reading(path: Path, max_bytes: int, known: Path | None = None) -> Iterator[sqlite3.Connection]:
    size = _looked_at(path, max_bytes)
    connection = sqlite3.connect(_unlocked(path), uri=True)
    try:
        if known is not None:
            connection.execute("ATTACH ? AS known", (_unlocked(known),))
        _distrust(connection, size)
        yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # The message about a damaged schema quotes bytes that are not text.
        why = "it takes too long to read" if "interrupted" in str(error) else str(error)[:200]
        raise UserError(f"the state file {path.name} is damaged ({why})", REMEDY) from error
    finally:
        connection.close()


def _unlocked(path: Path) -> str:
    """Return the address by which SQLite looks at neither a log nor a lock beside the file: `immutable`."""
    return f"{path.resolve().as_uri()}?mode=ro&immutable=1"


def _distrust(connection: sqlite3.Connection, size: int) -> None:
    left = [1 + STEPS * size // EVERY + 200]

    def tick() -> bool:
        left[0] -= 1
        return left[0] < 0

    connection.set_progress_handler(tick, EVERY)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.text_factory = _decoded
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "query_only = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _decoded(raw: bytes) -> str | bytes:
    """Return text; invalid UTF-8 stays bytes, which no column of text takes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _check_schema(connection: sqlite3.Connection, path: Path) -> int:
    """Refuse a file whose schema is none that this program has ever made, and one that is damaged; else its number."""
    found = _schema(connection)
    version = next((n for n, made in enumerate(_versions(), 1) if sorted(found) == sorted(made)), None)
    if version is None:
        _refuse_newer(connection, path, found)
        strange = sorted({name for _, name, _ in found} - {name for _, name, _ in _versions()[-1]})
        what = f": it has {', '.join(strange)[:200]!r}" if strange else ""
        raise UserError(f"the state file {path.name} has a schema that nightfuzz does not know{what}", REMEDY)
    fault = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if fault != "ok":
        raise UserError(f"the state file {path.name} is damaged ({str(fault)[:200]})", REMEDY)
    return version


def _refuse_newer(connection: sqlite3.Connection, path: Path, found: list[tuple[str, str, str]]) -> None:
    """Refuse a file with more migrations than this program knows: a later schema cannot be checked."""
    if _versions()[0][0] not in found:
        return
    (applied,) = connection.execute("SELECT COUNT(DISTINCT name) FROM _sqlite_migrations").fetchone()
    if applied > len(_versions()):
        remedy = "let all jobs use one version of nightfuzz: the newest that has written this state"
        raise NewerError(
            f"the state file {path.name} has schema {applied}, this nightfuzz knows {len(_versions())}", remedy
        )


def _schema(connection: sqlite3.Connection) -> list[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY rowid LIMIT 1000").fetchall()
    return [(str(kind), str(name), " ".join(str(sql).split())) for kind, name, sql in rows]


@cache
def _versions() -> list[list[tuple[str, str, str]]]:
    """Return the schema after every migration: a file from before an upgrade has an earlier one."""
    made = []
    for version in range(1, NEWEST + 1):
        db = Database(memory=True)
        migrate(db, version)
        made.append(_schema(db.conn))
        db.close()
    return made


class _Copy:
    """Rows of an untrusted file on their way into one of ours."""

    def __init__(self, connection: sqlite3.Connection, known: bool) -> None:
        self.connection = connection
        self.known = known
        self.began = known and all(map(self._same_numbers, PARENTS - {"targets"}))
        self.rows: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()

    def _same_numbers(self, table: str) -> bool:
        """Return whether a number means the same row in both files.

        It does if one file began as a copy of the second.
        """
        other = " OR ".join(f"theirs.{name} <> ours.{name}" for name in table_of(table).identity)
        sql = f"SELECT 1 FROM main.{table} AS theirs JOIN known.{table} AS ours USING (id) WHERE {other} LIMIT 1"
        return self.connection.execute(sql).fetchone() is None

    def into(self, clean: Path, version: int) -> Taken:
        """Copy the rows of an older file into a new file of its own schema.

        The new file is then migrated to the newest schema.
        """
        db = Database(clean)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        migrate(db, version)
        with db.atomic():
            # Judgements come from people alone, and people do not judge in a job that runs untrusted code.
            for table in (table for table in TABLES if table.name != "judgements"):
                if columns := _columns(db.conn, table.name):
                    self._table(db.conn, table.name, columns)
        db.close()
        with open_store(clean) as store, store._transaction():
            for sql in KINDS_OF_TEXTS:
                store._db.conn.execute(sql)
        return Taken(dict(self.rows), dict(self.dropped))

    def _table(self, into: sqlite3.Connection, table: str, columns: list[_Column]) -> None:
        names = ", ".join(column.name for column in columns)
        sql = f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"
        fits = self._judge(into, table, columns)
        sound = _said(table, columns) if self.known else "0"
        new = f"NOT {sound}" if self.began and table not in PARENTS else "1"
        cursor = self.connection.execute(f"SELECT {names}, {sound} FROM main.{table} AS theirs WHERE {new}")
        while rows := cursor.fetchmany(BATCH):
            room = max(MOST.get(table, MAX_BYTES) - self.rows[table], 0)
            kept = [row[:-1] for row in rows[:room] if fits(row)]
            taken = into.executemany(sql, kept).rowcount
            self.rows[table] += taken
            self._drop(f"{table}: more than any state has", len(rows) - room)
            self._drop(f"{table}: breaks a rule of the table", len(kept) - taken)

    def _drop(self, reason: str, rows: int = 1) -> None:
        if rows > 0:
            self.dropped[reason] += rows

    def _judge(self, into: sqlite3.Connection, table: str, columns: list[_Column]) -> Callable[[tuple[Any, ...]], bool]:
        """Return the function that decides whether a row is fit for its table.

        The rows of the known state are sound already.
        """
        cells = {column.name: cell(table, *column) for column in columns}
        names = list(cells)
        parents = [
            (names.index(column), {None, *(key for (key,) in into.execute(f"SELECT {key} FROM {parent}"))})
            for _, _, parent, column, key, *_ in into.execute(f"PRAGMA foreign_key_list({table})").fetchall()
        ]

        def fits(row: tuple[Any, ...]) -> bool:
            try:
                for place, there in parents:
                    need(row[place] in there, f"{names[place]}: refers to nothing")
                if not row[-1]:
                    check_row(table, cells, dict(zip(names, row, strict=False)))
            except RefusedRow as reason:
                self._drop(f"{table}: {reason}")
                return False
            return True

        return fits


def _columns(into: sqlite3.Connection, table: str) -> list[_Column]:
    """Return the columns of a table that the untrusted file has too.

    The result is empty if the file's schema is older than the table.
    """
    # SQLite lets a key of text be missing.
    rows = into.execute(f"PRAGMA table_info({table})")
    return [_Column(name, kind, bool(need or key)) for _, name, kind, need, _, key in rows]


def _said(table: str, columns: list[_Column]) -> str:
    """Return SQL that is true if the known state has the row as well."""
    same = [f"ours.{name} {'=' if required else 'IS'} theirs.{name}" for name, _, required in columns]
    return f"EXISTS (SELECT 1 FROM known.{table} AS ours WHERE {' AND '.join(same)})"
