"""The coverage of the sweep, cell by cell, and the tests and the time that each api has had."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from fuzz_core.store.base import Base, to_json

# A cell that has no row is not tried yet.
VALID, REFUSED, CRASHED, HUNG, MEMORY, EXITED, UNREACHABLE, POSTPONED = CELL_RESULTS = (
    "valid",  # the call returned
    "refused",  # the call raised an exception
    "crashed",  # the crash oracle has a verdict
    "hung",  # the call took longer than its time limit
    "out-of-memory",
    "exited",  # the call ended its process without a signal
    "unreachable",  # this build cannot make the value; `reason` says why
    "postponed",  # the class burns time; the sweep tries the cell last
)

_SAVE_EFFORTS = """
INSERT INTO efforts VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (target, api) DO UPDATE
SET calls = iif(excluded.cells, excluded.calls, calls), cells = iif(excluded.cells, excluded.cells, cells),
    tests = tests + excluded.tests, seconds = seconds + excluded.seconds,
    pairs = iif(excluded.cells OR excluded.pairs, excluded.pairs, pairs),
    paired = iif(excluded.cells OR excluded.pairs, excluded.paired, paired)
"""
_CARRY = """
INSERT OR IGNORE INTO {table} SELECT :target, {columns} FROM {table}
WHERE target = :since AND api NOT IN (SELECT value FROM json_each(:stirred))
    AND api IN (SELECT name FROM apis WHERE target = :target)
"""


class CellRow(NamedTuple):
    """A cell of the sweep that was tried or postponed."""

    api: str
    argument: str  # name of the argument; empty for the whole call
    name: str  # name of the boundary class
    result: str  # one of CELL_RESULTS
    reason: str = ""  # why it is unreachable or postponed
    shown: int = 0  # digest of the outcome class of its test; 0 if the test did not end


class CellCount(NamedTuple):
    """How many cells of an argument have a result."""

    api: str
    argument: str
    result: str
    cells: int


class Effort(NamedTuple):
    """The size of an api's sweep, and the fuzzing that the api has had."""

    api: str
    calls: int = 0  # calls of the api from which its sweep was made
    cells: int = 0  # cells of its sweep; 0 before its first turn
    tests: int = 0
    seconds: float = 0.0  # time of workers
    pairs: int = 0  # tests of pairs of its cells; 0 before its singles are done
    paired: int = 0  # how many of these tests have been run, in their order


class CellTables(Base):
    """The tables `cells` and `efforts`."""

    def save_cells(self, target: str, cells: Iterable[CellRow], efforts: Iterable[Effort] = ()) -> None:
        """Set the results of cells, and add tests and seconds to the efforts, in one transaction.

        Pairs of an api whose cells are counted anew begin anew.
        """
        with self._transaction():
            self._insert_all("cells", ((target, *cell) for cell in cells), "INSERT OR REPLACE")
            self._db.conn.executemany(_SAVE_EFFORTS, ((target, *effort) for effort in efforts))

    def cells(self, target: str, api: str | None = None) -> list[CellRow]:
        """List the cells of a target, or of one of its apis, that have a result, by api, argument and class."""
        sql = "SELECT * FROM cells WHERE target = ?1 AND (?2 IS NULL OR api = ?2) ORDER BY api, argument, name"
        return self._records(CellRow, sql, target, api)

    def cell_counts(self, target: str) -> list[CellCount]:
        """Count the cells of each argument of a target by their result."""
        sql = """
            SELECT api, argument, result, COUNT(*) AS cells FROM cells WHERE target = ?
            GROUP BY api, argument, result ORDER BY api, argument
        """
        return self._records(CellCount, sql, target)

    def efforts(self, target: str) -> list[Effort]:
        """List the effort for each api of a target, by name."""
        return self._records(Effort, "SELECT * FROM efforts WHERE target = ? ORDER BY api", target)

    def carry_cells(self, target: str, since: str, stirred: Collection[str]) -> int:
        """Take over the cells of an earlier target, without those of the apis in `stirred`; returns how many.

        A target that has cells already takes over none.
        """
        if self._rows("SELECT 1 FROM cells WHERE target = ? LIMIT 1", target):
            return 0
        names: Mapping[str, str] = {"target": target, "since": since, "stirred": to_json(sorted(stirred))}
        with self._transaction():
            execute = self._db.conn.execute
            execute(_CARRY.format(table="efforts", columns="api, calls, cells, 0, 0, pairs, paired"), names)
            return execute(
                _CARRY.format(table="cells", columns="api, argument, name, result, reason, shown"), names
            ).rowcount
