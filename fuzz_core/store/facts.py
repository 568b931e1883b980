"""What is known of the apis of builds. It travels with the state, as the file beside the state does not."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import ValidationError

from fuzz_core.ir.constraints import Constraint
from fuzz_core.modelgen.moco.facts import VERSION, Facts, Knowledge
from fuzz_core.modelgen.moco.knowledge.file import plain
from fuzz_core.store.base import Base

_REFUSALS = """
SELECT DISTINCT api, reason FROM calls WHERE target = ? AND outcome_kind = 'exception' ORDER BY api, reason
"""


class FactTables(Base):
    """The tables `constraints`, what documentation says of arguments, and `facts`, what MoCo knows."""

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

    def save_knowledge(self, target: str, knowledge: Knowledge) -> None:
        """Replaces what is known of the apis of a target."""
        unfinished = set(knowledge.unfinished)
        rows = [
            (target, name, VERSION, name in unfinished, knowledge.embedding, body_of(facts))
            for name, facts in sorted(knowledge.apis.items())
        ]
        with self._transaction():
            self._db.execute("DELETE FROM facts WHERE target = ?", (target,))
            self._insert_all("facts", rows)

    def knowledge(self, target: str) -> Knowledge | None:
        """What is on record of a target, None where nothing is that this program reads.

        It may come from anywhere: see `modelgen.moco.knowledge.portable`.
        """
        sql = """SELECT api, body, embedding, unfinished, library FROM facts JOIN targets ON target = key
            WHERE target = ? AND facts.version = ? ORDER BY api"""
        rows = self._rows(sql, target, VERSION)
        if not rows:
            return None
        return Knowledge(
            library=rows[0]["library"],
            build=target,
            embedding=max(row["embedding"] for row in rows),
            unfinished=tuple(row["api"] for row in rows if row["unfinished"]),
            apis={row["api"]: Facts.model_validate_json(row["body"]) for row in rows},
        )

    def builds_known(self) -> set[str]:
        """The keys of the targets that anything is on record of."""
        rows = self._rows("SELECT DISTINCT target FROM facts WHERE version = ?", VERSION)
        return {row["target"] for row in rows}


def body_of(facts: Facts) -> str:
    """The facts of an api as JSON, defaults left out; the same text for the same facts."""
    return json.dumps(plain(facts), separators=(",", ":"))


def is_body(body: str, api: str) -> bool:
    """Whether it is what `body_of` gives for facts of this api."""
    try:
        facts = Facts.model_validate_json(body)
    except ValidationError:
        return False
    return facts.api == api and body_of(facts) == body
