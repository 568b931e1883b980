"""State files put together: shards of one run, or files that were kept apart. Rows are found by their content.

If two files have one row with different content, a total order picks one, or both are combined. So the order of the
files makes no difference, and a file may be merged twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import Any, NamedTuple

from fuzz_core.ir.codec import decode_test
from fuzz_core.ir.values import TestCase
from fuzz_core.store.base import to_json, user_errors
from fuzz_core.store.content import TABLES, Table
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store

# A new row keeps its number if the number is free, but no file may use up all numbers.
GAP = 100_000
Cost = Callable[[TestCase], Any]
COUNT_FINDINGS = """
UPDATE main.bugs SET findings = n FROM (
    SELECT bugs.id AS which, COUNT(findings.id) AS n FROM main.bugs LEFT JOIN main.findings ON findings.bug = bugs.id
    GROUP BY bugs.id) AS counted WHERE which = bugs.id AND findings <> n
"""


class MergeResult(NamedTuple):
    """The result of a merge: the numbers of new bugs, and the count of added or changed rows by table."""

    bugs: tuple[int, ...]
    rows: Mapping[str, int]


def merge(into: Store, others: Sequence[Path], cost: Cost) -> MergeResult:
    """Fold other state files into an open store, in one transaction.

    Numbers in the store never change. A new row keeps its number if the number is free and no further row claims it. So
    the order of the files makes no difference.

    Args:
        cost: the total order on test cases; if two show one bug, the simpler stays.

    Raises:
        UserError: `open_store` would refuse a file.
    """
    for path in others:
        open_store(path, read_only=True).close()
    connection = into._db.conn
    with user_errors(into.path), _staged(connection, others), into._transaction():
        return _folded(connection, cost)


@contextmanager
def _staged(connection: Connection, others: Sequence[Path]) -> Iterator[None]:
    """Copy what the files say and the store does not into temporary tables: SQLite attaches no more than ten."""
    try:
        for table in TABLES:
            connection.execute(f"CREATE TEMP TABLE in_{table.name} (number, {', '.join(table.columns)})")
            connection.execute(f"CREATE TEMP VIEW mine_{table.name} AS {table.select.format(db='main')}")
        for path in others:
            _stage(connection, path)
        yield
    finally:
        _drop(connection)


def _drop(connection: Connection) -> None:
    rows = connection.execute("SELECT type, name FROM sqlite_temp_master WHERE type IN ('table', 'view')").fetchall()
    for kind, name in sorted(rows, reverse=True):
        connection.execute(f"DROP {kind} temp.{name}")


def _stage(connection: Connection, path: Path) -> None:
    connection.execute("ATTACH ? AS other", (str(path),))
    try:
        for table in TABLES:
            same = [f"mine.{name} {'=' if name in table.identity else 'IS'} theirs.{name}" for name in table.columns]
            connection.execute(
                f"INSERT INTO in_{table.name} SELECT * FROM ({table.select.format(db='other')}) AS theirs"
                f" WHERE NOT EXISTS (SELECT 1 FROM ({table.select.format(db='main')}) AS mine"
                f" WHERE {' AND '.join(same)})"
            )
        connection.commit()
    finally:
        connection.rollback()
        connection.execute("DETACH other")


def _folded(connection: Connection, cost: Cost) -> MergeResult:
    """Move the staged rows into the store, table by table."""
    numbers = "SELECT id FROM main.bugs"
    before = set(connection.execute(numbers))
    _order_tests(connection, cost)
    connection.create_window_function("longer_texts", 1, _LongerTexts)
    rows = {table.name: count for table in TABLES if (count := _fold(connection, table))}
    connection.execute(COUNT_FINDINGS)
    new = sorted(set(connection.execute(numbers)) - before)
    return MergeResult(tuple(number for (number,) in new), rows)


def _order_tests(connection: Connection, cost: Cost) -> None:
    """Place the tests of bugs, so that SQL can compare them; equal costs share a place."""
    sql = "SELECT test FROM in_bugs UNION SELECT test FROM mine_bugs"
    costs = {text: cost(decode_test(json.loads(text))) for (text,) in connection.execute(sql)}
    places = {each: place for place, each in enumerate(sorted(set(costs.values())))}
    connection.create_function("place_of", 1, lambda text: places[costs[text]], deterministic=True)


def _fold(connection: Connection, table: Table) -> int:
    key, columns = ", ".join(table.identity), ", ".join(table.columns)
    over = f"OVER (PARTITION BY {key})"
    folded = [f"{table.fold.get(name, name).format(over=over)} AS {name}" for name in table.columns]
    connection.execute(
        f"CREATE TEMP TABLE best_{table.name} AS SELECT * FROM (SELECT {', '.join(folded)},"
        f" MAX(number) FILTER (WHERE mine) {over} AS own, MIN(number) {over} AS claim,"
        f" ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {table.order}) AS rank"
        f" FROM (SELECT {columns}, number, 0 AS mine FROM in_{table.name}"
        f" UNION ALL SELECT {columns}, number, 1 AS mine FROM mine_{table.name}"
        f" WHERE ({key}) IN (SELECT {key} FROM in_{table.name}))) WHERE rank = 1"
    )
    if table.numbered:
        _number(connection, table)
    return _write(connection, table)


def _number(connection: Connection, table: Table) -> None:
    """Give a number to rows that the store does not have.

    The number is the one that they claim, else one behind all that are taken.
    """
    best, name = f"best_{table.name}", table.name
    execute = connection.execute
    (newest,) = execute(f"SELECT COALESCE(MAX(id), 0) FROM main.{name}").fetchone()
    execute(
        f"UPDATE {best} SET own = claim WHERE own IS NULL AND claim BETWEEN 1 AND ? AND claim NOT IN"
        f" (SELECT id FROM main.{name}) AND claim NOT IN"
        f" (SELECT claim FROM {best} WHERE own IS NULL GROUP BY claim HAVING COUNT(*) > 1)",
        (newest + GAP,),
    )
    (newest,) = execute(f"SELECT MAX(?, COALESCE(MAX(own), 0)) FROM {best}", (newest,)).fetchone()
    execute(
        f"UPDATE {best} SET own = ? + place FROM (SELECT rowid AS which, ROW_NUMBER() OVER"
        f" (ORDER BY claim, {', '.join(table.identity)}) AS place FROM {best} WHERE own IS NULL) AS placed"
        f" WHERE {best}.rowid = which",
        (newest,),
    )


def _write(connection: Connection, table: Table) -> int:
    values, order = table.column_values, ", ".join(f"best.{name}" for name in ("own", *table.identity))
    sql = (
        f"INSERT INTO main.{table.name} AS mine ({', '.join(values)}) SELECT {', '.join(values.values())}"
        f" FROM best_{table.name} AS best {table.joins} WHERE true ORDER BY {order}"
        f" ON CONFLICT ({'id' if table.numbered else ', '.join(table.key.split())}) DO UPDATE"
        f" SET {', '.join(f'{name} = excluded.{name}' for name in values)}"
        f" WHERE {' OR '.join(f'mine.{name} IS NOT excluded.{name}' for name in values)}"
    )
    return connection.execute(sql).rowcount


class _LongerTexts:
    """An SQL aggregate over JSON objects about one build: for each key, the longer text."""

    def __init__(self) -> None:
        self.longest: dict[str, Any] = {}

    def step(self, body: str) -> None:
        for key, value in json.loads(body).items():
            self.longest[key] = max(self.longest.get(key, value), value, key=_weight)

    def inverse(self, body: str) -> None:
        raise NotImplementedError("no window of the merger ends before its partition does")

    def value(self) -> str:
        return to_json(self.longest)

    finalize = value


def _weight(value: Any) -> tuple[int, str]:
    told = to_json(value)
    return len(told), told
