"""Fuzzing runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fuzz_core.ir.errors import UserError
from fuzz_core.store.base import Base, text, to_json
from fuzz_core.store.records import RunRow


class RunTables(Base):
    """The table `runs`."""

    def start_run(self, target: str, seed: int, options: Mapping[str, Any]) -> int:
        """Records that a run begins; returns its id."""
        sql = "INSERT INTO runs (target, started, seed, options) VALUES (?, ?, ?, ?)"
        with self._transaction():
            row = (target, self._now(), str(seed), to_json(dict(options)))
            return int(self._db.conn.execute(sql, row).lastrowid or 0)

    def checkpoint_run(self, run: int, tests: int, seconds: float = 0.0) -> None:
        """Records how far a run has come: tests executed and seconds spent since it began."""
        with self._transaction():
            self._db.execute("UPDATE runs SET tests = ?, seconds = ? WHERE id = ?", (tests, seconds, run))

    def finish_run(self, run: int, status: str, summary: Mapping[str, Any]) -> None:
        """Records how a run ended (`done`, `interrupted`, …) and its JSON-able summary."""
        sql = "UPDATE runs SET status = ?, summary = ?, finished = ? WHERE id = ?"
        with self._transaction():
            self._db.execute(sql, (text(status), to_json(dict(summary)), self._now(), run))

    def mark_killed_runs(self) -> None:
        """Runs that are on record as running have died with their controller: only one writes at a time."""
        with self._transaction():
            self._db.execute("UPDATE runs SET status = 'killed' WHERE status = 'running'")

    def run(self, number: int) -> RunRow:
        """One run. Raises UserError where there is none."""
        rows = self._rows("SELECT * FROM runs WHERE id = ?", number)
        if not rows:
            raise UserError(f"no run {number} in {self.path}")
        return _run_row(rows[0])

    def runs(self, target: str | None = None) -> list[RunRow]:
        """Runs (of one target), the oldest first."""
        return [
            _run_row(r) for r in self._rows("SELECT * FROM runs WHERE ?1 IS NULL OR target = ?1 ORDER BY id", target)
        ]


def _run_row(row: dict[str, Any]) -> RunRow:
    parsed = {"seed": int(row["seed"]), "options": json.loads(row["options"]), "summary": json.loads(row["summary"])}
    return RunRow(**{**row, **parsed})
