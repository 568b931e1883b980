"""Counts over whole tables: what a dashboard says of runs, apis and rules."""

from __future__ import annotations

import json
from typing import NamedTuple

from fuzz_core.ir.codec import decode_invocation
from fuzz_core.ir.values import Invocation
from fuzz_core.store.traces import TraceTables

_FINDINGS = """
SELECT run, json_extract(verdict, '$[0]') AS oracle, json_extract(verdict, '$[1]') AS kind, status, COUNT(*) AS findings
FROM findings GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
"""
_RULES = """
SELECT value AS rule, status, COUNT(*) AS findings FROM findings, json_each(json_extract(test, '$[3]'))
GROUP BY 1, 2 ORDER BY 1, 2
"""
_CLASSES = """
SELECT api, outcome_kind AS kind, COUNT(*) AS classes FROM news WHERE target = ? GROUP BY 1, 2 ORDER BY 1, 2
"""
_TRACES = """
SELECT target, substr(traced_at, 1, 10) AS day, COUNT(*) AS seeds, SUM(seconds) AS seconds FROM seeds
GROUP BY 1, 2 ORDER BY 2, 1
"""
_SPACE = """
SELECT api, slot_name(api, word, argument_values.place) AS argument, type, COUNT(DISTINCT argument) AS amount
FROM validity JOIN argument_values USING (invocation) JOIN arguments ON arguments.id = argument_values.argument
WHERE target = ? AND expected = 'ok' GROUP BY 1, 2, 3 ORDER BY 1, 2, 4 DESC, 3
"""


class FindingCount(NamedTuple):
    """Number of findings of a run with this verdict and this result of examination."""

    run: int
    oracle: str
    kind: str
    status: str
    findings: int


class RuleCount(NamedTuple):
    """Number of findings whose test case a mutation rule helped to make, by their result of examination."""

    rule: str
    status: str
    findings: int


class ClassCount(NamedTuple):
    """Number of outcome classes of an api, by the kind of the outcomes."""

    api: str
    kind: str
    classes: int


class TraceCount(NamedTuple):
    """The seeds of a target that were traced on a day, and the wall time of their processes."""

    target: str
    day: str  # ISO date
    seeds: int
    seconds: float


class SpaceCount(NamedTuple):
    """Number of values of one type on record for an argument of an api."""

    api: str
    argument: str
    type: str
    amount: int


class FigureTables(TraceTables):
    """Counts over the tables of the store."""

    def index_findings(self) -> None:
        """Make questions about the findings and checks of one bug fast, in a copy of a state that is read once."""
        self._db.execute("CREATE INDEX IF NOT EXISTS findings_by_bug ON findings (bug)")

    def finding_counts(self) -> list[FindingCount]:
        """Count findings by run, verdict and status."""
        return self._records(FindingCount, _FINDINGS)

    def rule_counts(self) -> list[RuleCount]:
        """Count findings by mutation rule and status.

        A finding counts once for each of its rules.
        """
        return self._records(RuleCount, _RULES)

    def first_runs(self) -> dict[int, int]:
        """Return the first run that found each bug, by the bug's number."""
        rows = self._rows("SELECT bug, MIN(run) AS run FROM findings WHERE bug IS NOT NULL GROUP BY bug")
        return {row["bug"]: row["run"] for row in rows}

    def class_counts(self, target: str) -> list[ClassCount]:
        """Count the outcome classes of a target's apis."""
        return self._records(ClassCount, _CLASSES, target)

    def trace_counts(self) -> list[TraceCount]:
        """Count the seeds that were traced, by day and target, the oldest first."""
        return self._records(TraceCount, _TRACES)

    def space_counts(self, target: str) -> list[SpaceCount]:
        """Count the values of each argument of a target's apis, by type, the most values first."""
        return [SpaceCount(**row) for row in self._arguments(_SPACE, target)]

    def recorded_call(self, number: int) -> Invocation | None:
        """Return the recorded invocation of this number; None if there is none."""
        rows = self._rows("SELECT body FROM invocations WHERE id = ?", number)
        return decode_invocation(json.loads(rows[0]["body"])) if rows else None

    def entries_matched(self) -> dict[int, str]:
        """Return the entry of the registry that each known bug matched last, by the bug's number."""
        rows = self._rows("SELECT bug, entry FROM known_matches ORDER BY last_seen, entry")
        return {row["bug"]: row["entry"] for row in rows}
