"""What documentation says of arguments, by target."""

from __future__ import annotations

import json
from collections.abc import Iterable

from fuzz_core.ir.constraints import Constraint
from fuzz_core.store.base import Base, text, to_json

_REFUSALS = """
SELECT DISTINCT api, reason FROM invocations WHERE target = ? AND outcome_kind = 'exception' ORDER BY api, reason
"""


class ConstraintTables(Base):
    """The table `constraints`."""

    def save_constraints(self, target: str, constraints: Iterable[Constraint]) -> None:
        """Replaces the target's constraints; where several sources bound the same, the first one stays."""
        rows = [
            (target, *map(text, (c.api, c.argument, c.kind)), to_json(list(c.bounds)), text(c.text), c.source)
            for c in constraints
        ]
        with self._transaction():
            self._db.execute("DELETE FROM constraints WHERE target = ?", (target,))
            self._db.conn.executemany("INSERT OR IGNORE INTO constraints VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def constraints(self, target: str) -> list[Constraint]:
        """The target's constraints, by api, argument and kind."""
        rows = self._rows("SELECT * FROM constraints WHERE target = ? ORDER BY api, argument, kind", target)
        return [
            Constraint(r["api"], r["argument"], r["kind"], tuple(json.loads(r["bounds"])), r["text"], r["source"])
            for r in rows
        ]

    def refusals(self, target: str) -> list[tuple[str, str]]:
        """(api, message) of the exceptions that recorded invocations ended with when they were re-run."""
        return [(row["api"], row["reason"].partition(": ")[2]) for row in self._rows(_REFUSALS, target)]
