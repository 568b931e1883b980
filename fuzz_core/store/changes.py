"""What a target does otherwise than a baseline."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.kinds import CHANGES
from fuzz_core.store.base import Base


class Change(NamedTuple):
    """A test case that comes to something else, with a script that prints it.

    kind: one of CHANGES. signature: `API: FAULT`. before, after: outcomes on the baseline and the target; the text of
    an `ok` one is what the script prints. hits of runs: in how many fresh processes of both they differed.
    """

    api: str
    kind: str
    signature: str
    test: TestCase
    script: str
    before: Outcome
    after: Outcome
    hits: int
    runs: int


class ChangeTables(Base):
    """The table `changes`."""

    def save_change(self, target: str, baseline: str, change: Change) -> None:
        """Keeps a change; one with the same signature is replaced."""
        cells = change._asdict()
        with self._transaction():
            self._insert(
                "changes", verb="INSERT OR REPLACE", target=target, baseline=baseline, **cells, found_at=self._now()
            )

    def changes(self, target: str, baseline: str) -> list[Change]:
        """What a target does otherwise than a baseline, worst first, then by api."""
        sql = "SELECT * FROM changes WHERE target = ? AND baseline = ? ORDER BY api, signature"
        return sorted(self._records(Change, sql, target, baseline), key=lambda change: CHANGES.index(change.kind))

    def compared(self) -> list[tuple[str, str]]:
        """(target, baseline) of every comparison that found something, the latest last."""
        rows = self._rows("SELECT target, baseline FROM changes GROUP BY target, baseline ORDER BY MAX(id)")
        return [(row["target"], row["baseline"]) for row in rows]

    def seeds_of(self, invocation: int, target: str | None = None) -> list[str]:
        """Names of the seeds that an invocation was traced from (for a target): `test_loss.py::test_focal`."""
        sql = (
            "SELECT DISTINCT name || CASE part WHEN '' THEN '' ELSE '::' || part END AS name"
            " FROM provenance JOIN seeds ON digest = seed"
            " WHERE invocation = ?1 AND (?2 IS NULL OR target = ?2) ORDER BY 1"
        )
        return [row["name"] for row in self._rows(sql, invocation, target)]

    def brought(self, target: str, seeds: Iterable[str]) -> set[int]:
        """Numbers of the invocations that come from any of these seeds."""
        sql = (
            "SELECT DISTINCT invocation FROM provenance JOIN validity USING (invocation)"
            " WHERE target = ? AND seed IN (SELECT value FROM json_each(?))"
        )
        return {row["invocation"] for row in self._rows(sql, target, json.dumps(list(seeds)))}
