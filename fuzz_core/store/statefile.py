"""Opening a state file: one writer, checked, migrated; a damaged file is kept aside."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout
from sqlite_utils import Database

from fuzz_core.ir.errors import UserError
from fuzz_core.store.base import is_corrupt, is_not_writable, not_writable, user_errors
from fuzz_core.store.schema import APPLICATION_ID, MIGRATIONS, NEWEST, version_of
from fuzz_core.store.store import Store

SIDECARS = ("-wal", "-shm")


class NewerError(UserError):
    """A later nightfuzz has written the file, which is sound."""


def now() -> datetime:
    """Return the wall clock in UTC."""
    return datetime.now(UTC)


def open_store(path: Path, *, read_only: bool = False, clock: Callable[[], datetime] = now) -> Store:
    """Open a state file.

    A missing file is made, and an older file is migrated to the newest schema.

    A writer holds `<name>.lock` until the store is closed; readers need no lock and leave the file unchanged.

    Raises:
        UserError: not writable, held by another controller, of a newer schema, damaged (a writer moves the file aside
            first), or not nightfuzz's.
    """
    if path.is_dir():
        raise UserError(f"{path} is a directory, not a state file", "name a file in that directory")
    if read_only:
        return Store(path, _open_reader(path), clock)
    lock = _lock(path)
    try:
        db = _open_writer(path)
        store = Store(path, db, clock, on_close=lock.release)
        store.mark_killed_runs()
    except BaseException:
        lock.release()
        raise
    return store


def is_held(path: Path) -> bool:
    """Return whether a controller works on a state file; a controller that begins at this moment may fail for it."""
    file = path.with_name(path.name + ".lock")
    if not file.exists():
        return False
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return True
    lock.release()
    return False


def _lock(path: Path) -> FileLock:
    file = path.with_name(path.name + ".lock")
    lock = FileLock(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
        file.write_text(f"{os.getpid()}\n")
    except Timeout:
        raise UserError(
            f"another nightfuzz (process {_holder(file)}) uses the state file {path} and holds the lock {file}",
            "wait until that process ends, end it, or choose another directory with --state",
        ) from None
    except OSError as error:
        lock.release()
        raise not_writable(path, error) from error
    return lock


def _holder(file: Path) -> str:
    try:
        return file.read_text().strip() or "unknown"
    except OSError:
        return "unknown"


def _open_writer(path: Path) -> Database:
    if path.exists() and not os.access(path, os.W_OK):
        raise not_writable(path, PermissionError("the file is read-only"))
    with user_errors(path):
        _check_first(path)
        db = Database(sqlite3.connect(path), execute_plugins=False)
        with _closing_on_error(db):
            _refuse(db, path)
            # Write the id first: if the process is killed here, the next run must know the file as ours.
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.enable_wal()
            db.execute("PRAGMA synchronous = NORMAL")
            MIGRATIONS.apply(db)
            db.execute("PRAGMA foreign_keys = ON")
    return db


def _check_first(path: Path) -> None:
    """Keep a damaged file aside.

    Looks through a reader: a writer would fold the log into it, or drop the log.
    """
    if not path.exists() or path.stat().st_size == 0:
        return
    try:
        _connect_reader(path).close()
    except sqlite3.DatabaseError as error:
        if is_corrupt(error):
            raise _keep_aside(path, str(error)) from error
        raise


def _open_reader(path: Path) -> Database:
    if not path.exists():
        raise UserError(
            f"there is no state file {path}",
            "make it with `nightfuzz trace --target torch==2.13.0`, or name another directory with --state",
        )
    with user_errors(path):
        db = _connect_reader(path)
        with _closing_on_error(db):
            _refuse(db, path)
            if version_of(db) < NEWEST:
                raise UserError(
                    f"the state file {path} has schema {version_of(db)}, but this nightfuzz reads schema {NEWEST}",
                    "run `nightfuzz trace` once: it brings the file up to date",
                )
    return db


def _connect_reader(path: Path) -> Database:
    address = path.resolve().as_uri() + "?mode=ro"
    try:
        return _connect_checked(address)
    except sqlite3.OperationalError as error:
        # A reader of a WAL file needs its -shm; where the directory refuses one, only a file without a log can be read.
        if not is_not_writable(error) or path.with_name(path.name + "-wal").exists():
            raise
        return _connect_checked(address + "&immutable=1")


def _connect_checked(address: str) -> Database:
    """Connect and check the whole file.

    Raises:
        sqlite3.DatabaseError: for damage, with the code SQLITE_CORRUPT or SQLITE_NOTADB.
    """
    connection = sqlite3.connect(address, uri=True)
    try:
        faults = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
        if faults != ["ok"]:
            damage = sqlite3.DatabaseError("; ".join(faults)[:300])
            damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damage
        return Database(connection, execute_plugins=False)
    except BaseException:
        connection.close()
        raise


@contextmanager
def _closing_on_error(db: Database) -> Iterator[None]:
    try:
        yield
    except BaseException:
        db.close()
        raise


def _refuse(db: Database, path: Path) -> None:
    """Raise UserError for a file of another program or of a later nightfuzz."""
    owner = db.execute("PRAGMA application_id").fetchone()[0]
    if owner != APPLICATION_ID and db.table_names():
        raise UserError(
            f"{path} is a database of another program",
            "choose another directory with --state; the file was not changed",
        )
    version = version_of(db)
    if version > NEWEST:
        raise NewerError(
            f"the state file {path} has schema {version}, but this nightfuzz knows schemas up to {NEWEST}",
            "upgrade nightfuzz, or choose another directory with --state",
        )


def _keep_aside(path: Path, damage: str) -> UserError:
    number = 1
    while any(path.with_name(f"{path.name}.corrupt-{number}{end}").exists() for end in ("", *SIDECARS)):
        number += 1
    kept = path.with_name(f"{path.name}.corrupt-{number}")
    # The log goes first: beside a fresh, empty file SQLite would delete it.
    for end in (*SIDECARS, ""):
        old = path.with_name(path.name + end)
        if old.exists():
            old.rename(kept.with_name(kept.name + end))
    return UserError(
        f"the state file {path} is damaged ({damage}); it is kept as {kept}",
        f"run again to begin a fresh state; `sqlite3 {kept} .recover` may save rows of the damaged file",
    )
