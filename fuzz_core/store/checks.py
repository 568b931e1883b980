"""What bugs do on builds other than the one where they were found, and the figures of every build."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.base import Base
from fuzz_core.store.known import OPEN

FIXED = "fixed"
_CHECKS = """
SELECT checks.*, bugs.target AS found FROM checks JOIN bugs ON bugs.id = checks.bug
WHERE ?1 IS NULL OR bug = ?1 ORDER BY checks.id
"""
# Rows of one signature and one library are one bug: that of the lowest number.
_LATER = """
SELECT later.id AS id, MIN(first.id) AS first
FROM bugs AS later JOIN targets AS its ON its.key = later.target
    JOIN bugs AS first ON first.signature = later.signature AND first.id < later.id
    JOIN targets AS other ON other.key = first.target AND other.library = its.library
GROUP BY later.id
"""
_BUILDS = f"""
SELECT targets.key AS target, library, version, made_at,
    (SELECT COUNT(*) FROM apis WHERE apis.target = targets.key) AS apis,
    (SELECT COUNT(*) FROM runs WHERE runs.target = targets.key) AS runs,
    (SELECT COALESCE(SUM(seconds), 0) FROM runs WHERE runs.target = targets.key) AS seconds,
    (SELECT COALESCE(SUM(tests), 0) FROM runs WHERE runs.target = targets.key) AS tests,
    (SELECT COUNT(*) FROM findings WHERE findings.target = targets.key) AS findings,
    (SELECT COUNT(*) FROM bugs WHERE bugs.target = targets.key AND id NOT IN (SELECT id FROM ({_LATER}))) AS opened,
    (SELECT COUNT(*) FROM checks WHERE checks.target = targets.key) AS checks
FROM targets ORDER BY made_at, key
"""


class NewCheck(NamedTuple):
    """What a bug's script did on a target: shown, changed, flaky, clean or unrunnable; it showed it in hits of runs."""

    target: str
    status: str
    hits: int
    runs: int
    outcome: Outcome


class CheckRow(NamedTuple):
    """A check on record. found: the target that the bug was found on; checked_at: ISO 8601, UTC."""

    id: int
    bug: int
    found: str
    target: str
    status: str
    hits: int
    runs: int
    outcome: Outcome
    checked_at: str


class BuildRow(NamedTuple):
    """A build and what was done with it. seconds: wall time spent fuzzing; opened: bugs that it was the first to show.

    made_at: when it became a target, ISO 8601, UTC.
    """

    target: str
    library: str
    version: str
    made_at: str
    apis: int
    runs: int
    seconds: float
    tests: int
    findings: int
    opened: int
    checks: int


class CheckTables(Base):
    """The table `checks`, and the status of bugs that follows from it."""

    def add_checks(self, bug: int, checks: Iterable[NewCheck]) -> None:
        """Records what a bug did on some targets, in one transaction, in this order."""
        with self._transaction():
            for check in checks:
                self._insert("checks", bug=bug, **check._asdict(), checked_at=self._now())

    def checks(self, bug: int | None = None) -> list[CheckRow]:
        """All checks (of one bug), the oldest first."""
        return self._records(CheckRow, _CHECKS, bug)

    def set_standing(self, bug: int, status: str) -> None:
        """Makes an open bug fixed, or a fixed one open, with all its rows; a known one stays known."""
        numbers = [bug, *(later for later, first in self.later_rows().items() if first == bug)]
        with self._transaction():
            for number in numbers:
                sql = "UPDATE bugs SET status = ? WHERE id = ? AND status IN (?, ?)"
                self._db.execute(sql, (status, number, OPEN, FIXED))

    def later_rows(self) -> dict[int, int]:
        """Rows of bugs of which the library has an older row on another target, each with the number of that row."""
        return {int(row["id"]): int(row["first"]) for row in self._rows(_LATER)}

    def builds(self) -> list[BuildRow]:
        """All targets with their figures, in the order in which they were made."""
        return self._records(BuildRow, _BUILDS)
