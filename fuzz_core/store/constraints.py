"""What documentation says of arguments, by target."""

from __future__ import annotations

from collections.abc import Iterable

from fuzz_core.ir.constraints import Constraint
from fuzz_core.store.base import Base

_REFUSALS = """
SELECT DISTINCT api, reason FROM invocations WHERE target = ? AND outcome_kind = 'exception' ORDER BY api, reason
"""


class ConstraintTables(Base):
    """The table `constraints`."""

    def save_constraints(self, target: str, constraints: Iterable[Constraint]) -> None:
        """Replaces the target's constraints; where several sources bound the same, the first one stays."""
        with self._transaction():
            self._db.execute("DELETE FROM constraints WHERE target = ?", (target,))
            self._insert_all("constraints", ((target, *each) for each in constraints))

    def constraints(self, target: str) -> list[Constraint]:
        """The target's constraints, by api, argument and kind."""
        sql = "SELECT * FROM constraints WHERE target = ? ORDER BY api, argument, kind"
        return self._records(Constraint, sql, target)

    def refusals(self, target: str) -> list[tuple[str, str]]:
        """(api, message) of the exceptions that recorded invocations ended with when they were re-run."""
        return [(row["api"], row["reason"].partition(": ")[2]) for row in self._rows(_REFUSALS, target)]
