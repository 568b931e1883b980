"""The parts of a state file: what everybody may see, what is private, and what a state forgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.content import ORPHANS, PARENTS, TABLES, Table
from fuzz_core.store.merge import COUNT_FINDINGS
from fuzz_core.store.statefile import now, open_store
from fuzz_core.store.store import Store

_NEEDED = PARENTS - {"targets"}
# The target, its baseline, and the one that the next target takes over from.
KEEP = 3
_USED = """
SELECT key FROM (
    SELECT key, made_at, ROW_NUMBER() OVER (PARTITION BY library ORDER BY MAX(made_at,
        COALESCE((SELECT MAX(started) FROM runs WHERE target = key), ''),
        COALESCE((SELECT MAX(traced_at) FROM seeds WHERE target = key), ''),
        COALESCE((SELECT MAX(found_at) FROM changes WHERE key IN (target, baseline)), '')) DESC, key DESC) AS place
    FROM targets)
WHERE place > ? ORDER BY made_at, key
"""
_TOLD = " UNION ".join(
    f"SELECT json_extract(test, '$[2]') FROM {table} WHERE ?1 IN ({targets})"
    for table, targets in (("bugs", "target"), ("findings", "target"), ("changes", "target, baseline"))
)
_STATEMENTS = (
    f"DELETE FROM validity WHERE target = ?1 AND invocation NOT IN ({_TOLD})",
    """DELETE FROM seeds WHERE target = ?1 AND digest NOT IN (
        SELECT seed FROM provenance JOIN validity USING (invocation) WHERE target = ?1)""",
    "DELETE FROM moco_nodes WHERE tree IN (SELECT id FROM moco_trees WHERE target = ?1)",
    *(
        f"DELETE FROM {table} WHERE target = ?1"
        for table in ("moco_trees", "facts", "undescribed", "dropped", "news", "operators", "cells", "efforts")
    ),
)


class PrivateRows(NamedTuple):
    """The numbers of private rows.

    The rows of a private bug are private as well.
    """

    bugs: frozenset[int] = frozenset()
    findings: frozenset[int] = frozenset()
    checks: frozenset[int] = frozenset()
    changes: frozenset[int] = frozenset()


class ShownChange(NamedTuple):
    """A change on record by its number, with what both builds did."""

    id: int
    before: Outcome
    after: Outcome


def shown_changes(store: Store) -> list[ShownChange]:
    """List the changes on record, of all builds."""
    return store._records(ShownChange, "SELECT id, before, after FROM changes ORDER BY id")


def part(source: Path, public: Path, private: Path, apart: PrivateRows, clock: Callable[[], datetime] = now) -> bool:
    """Write the public and the private part of a state file; merged they give the file again.

    If no row is private, there is no private file.

    Both files are written row by row from empty ones. So no byte of a row that is left out can be in one, and the same
    source gives the same bytes. Rows that `apart` names are private. Outcome classes that ended in a signal, test cases
    like private ones, and the messages of traced code that died are private as well.

    Returns:
        Whether a row is private.

    Raises:
        UserError: `open_store` refuses the source.
    """
    open_store(source, read_only=True).close()
    _write(source, public, apart, _public, clock)
    there = _write(source, private, apart, _private, clock) > 0
    if not there:
        private.unlink()
        private.with_name(f"{private.name}.lock").unlink(missing_ok=True)
    return there


def _write(
    source: Path, path: Path, apart: PrivateRows, copy: Callable[[Table], str], clock: Callable[[], datetime]
) -> int:
    """Return how many rows were written beyond the targets."""
    path.unlink(missing_ok=True)
    with open_store(path, clock=clock) as store:
        execute = store._db.conn.execute
        with _attached(store._db.conn, source, apart), store._transaction():
            execute("REPLACE INTO main._sqlite_migrations SELECT * FROM other._sqlite_migrations")
            rows = {table.name: execute(copy(table)).rowcount for table in TABLES}
            execute(COUNT_FINDINGS)
        return sum(rows.values()) - rows["targets"]


def _public(table: Table) -> str:
    shown = {name: f"CASE WHEN {table.private} THEN {word} ELSE {name} END" for name, word in table.masked.items()}
    return _copy(table, shown, "true" if shown else f"({table.private}) IS NOT TRUE")


def _private(table: Table) -> str:
    return _copy(table, {}, _chosen(table) if table.name != "targets" else "true")


def _chosen(table: Table) -> str:
    return f"({table.private} {f'OR id IN temp.needed_{table.name}' if table.name in _NEEDED else ''})"


def _copy(table: Table, shown: Mapping[str, str], where: str) -> str:
    names = list(table.column_values)
    values = ", ".join(shown.get(name, name) for name in names)
    return f"INSERT INTO main.{table.name} ({', '.join(names)}) SELECT {values} FROM other.{table.name} WHERE {where}"


@contextmanager
def _attached(connection: Connection, source: Path, apart: PrivateRows) -> Iterator[None]:
    connection.execute("ATTACH ? AS other", (str(source),))
    for name, numbers in apart._asdict().items():
        connection.execute(f"CREATE TEMP TABLE apart_{name} (id INTEGER PRIMARY KEY)")
        connection.executemany(f"INSERT INTO temp.apart_{name} VALUES (?)", ((number,) for number in numbers))
    _need(connection)
    connection.commit()
    try:
        yield
    finally:
        connection.rollback()
        connection.execute("DETACH other")


def _need(connection: Connection) -> None:
    """Collect the rows that private rows refer to, children first."""
    for name in _NEEDED:
        connection.execute(f"CREATE TEMP TABLE needed_{name} (id INTEGER PRIMARY KEY)")
    for table in reversed(TABLES):
        for _, _, parent, column, *_ in connection.execute(f"PRAGMA foreign_key_list({table.name})").fetchall():
            if parent in _NEEDED:
                connection.execute(
                    f"INSERT OR IGNORE INTO temp.needed_{parent} SELECT {column} FROM other.{table.name}"
                    f" WHERE {_chosen(table)} AND {column} IS NOT NULL"
                )


def thin(store: Store, keep: int = KEEP) -> list[str]:
    """Forget value spaces and corpora, except those of each library's last used builds.

    Bugs, findings, checks and changes stay with all builds. Their invocations, the seeds of these invocations, and the
    constraints of the documentation stay as well.

    Returns:
        The keys of the targets that lost rows.
    """
    with store._transaction():
        thinned = [row["key"] for row in store._rows(_USED, keep) if _forget(store, row["key"])]
        for sql in ORPHANS:
            store._db.execute(sql)
    return thinned


def _forget(store: Store, target: str) -> bool:
    # Run the statements in order: later deletions depend on earlier ones.
    gone = [store._db.conn.execute(sql, (target,)).rowcount for sql in _STATEMENTS]
    return any(gone)
