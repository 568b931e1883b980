"""Fuzzing runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fuzz_core.store.base import Base
from fuzz_core.store.records import RunRow


class RunTables(Base):
    """The table `runs`."""

    def start_run(self, target: str, seed: int, options: Mapping[str, Any]) -> int:
        """Records that a run begins; returns its id."""
        with self._transaction():
            return self._insert("runs", target=target, started=self._now(), seed=str(seed), options=options) or 0

    def checkpoint_run(self, run: int, tests: int, seconds: float = 0.0) -> None:
        """Records how far a run has come: tests executed and seconds spent since it began."""
        with self._transaction():
            self._update("runs", run, tests=tests, seconds=seconds)

    def finish_run(self, run: int, status: str, summary: Mapping[str, Any]) -> None:
        """Records how a run ended (`done`, `interrupted`, …) and its JSON-able summary."""
        with self._transaction():
            self._update("runs", run, status=status, summary=summary, finished=self._now())

    def mark_killed_runs(self) -> None:
        """Runs that are on record as running have died with their controller: only one writes at a time."""
        with self._transaction():
            self._db.execute("UPDATE runs SET status = 'killed' WHERE status = 'running'")

    def run(self, number: int) -> RunRow:
        """One run. Raises UserError where there is none."""
        return self._numbered(RunRow, "run", number, "SELECT * FROM runs WHERE id = ?")

    def runs(self, target: str | None = None) -> list[RunRow]:
        """Runs (of one target), the oldest first."""
        return self._records(RunRow, "SELECT * FROM runs WHERE ?1 IS NULL OR target = ?1 ORDER BY id", target)
