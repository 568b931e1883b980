"""The results of fuzzing. A finding is committed as it is added, and settled once, together with its bug."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from fuzz_core.ir import codec
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.store.base import Base, digest_of, stored
from fuzz_core.store.records import BugRow, FindingRow, NewBug, RunRow

# The row that was there first stays the bug; a later build that shows it is a check of that one.
_SHOWN_AGAIN = """
INSERT INTO checks (bug, target, status, hits, runs, outcome, checked_at)
SELECT MIN(bugs.id), ?1, 'shown', ?3, ?4, ?5, ?6 FROM bugs JOIN targets ON targets.key = bugs.target
WHERE bugs.signature = ?2 AND bugs.target <> ?1 AND library = (SELECT library FROM targets WHERE key = ?1)
HAVING MIN(bugs.id) IS NOT NULL
"""
_LOCATE = """
UPDATE bugs SET findings = findings + 1,
    origin = CASE origin WHEN '' THEN (SELECT origin FROM findings WHERE id = ?2) ELSE origin END
WHERE id = ?1
"""
_ADD_EXAMINING = """
UPDATE runs SET summary = json_set(summary, '$.examining', round(coalesce(summary ->> '$.examining', 0) + ?1, 3))
WHERE id = (SELECT MAX(id) FROM runs WHERE target = ?2)
"""


class News(NamedTuple):
    """An outcome class that an api has shown, and the kind of the outcomes in it."""

    api: str
    outcome_class: str
    outcome_kind: str
    test: str | None  # JSON text of the case that joined the corpus for it, or None


class OperatorRow(NamedTuple):
    """An operator that was dispatched to, with the dtype of its first tensor (`-`: none) and the first api to do so."""

    name: str
    dtype: str
    api: str


class FindingTables(Base):
    """The tables `runs`, `findings`, `bugs`, `news` and `operators`."""

    def start_run(self, target: str, seed: int, options: Mapping[str, Any]) -> int:
        """Record that a run begins; return its id."""
        with self._transaction():
            return self._insert("runs", target=target, started=self._now(), seed=str(seed), options=options) or 0

    def checkpoint_run(self, run: int, tests: int, seconds: float = 0.0) -> None:
        """Record how far a run has come: tests executed and seconds spent since it began."""
        with self._transaction():
            self._update("runs", run, tests=tests, seconds=seconds)

    def finish_run(self, run: int, status: str, summary: Mapping[str, Any]) -> None:
        """Record how a run ended (`done`, `interrupted`, …) and its JSON-able summary."""
        with self._transaction():
            self._update("runs", run, status=status, summary=summary, finished=self._now())

    def add_examining(self, target: str, seconds: float) -> None:
        """Add seconds of examiners to the figures of a target's last run; a target without a run keeps none."""
        with self._transaction():
            self._db.execute(_ADD_EXAMINING, (seconds, target))

    def mark_killed_runs(self) -> None:
        """Mark as killed each run on record as running: its controller has died, because only one writes at a time."""
        with self._transaction():
            self._db.execute("UPDATE runs SET status = 'killed' WHERE status = 'running'")

    def interrupt_runs(self) -> None:
        """Record that the user has ended the runs that are on record as running."""
        with self._transaction():
            self._db.execute("UPDATE runs SET status = 'interrupted' WHERE status = 'running'")

    def run(self, number: int) -> RunRow:
        """Return a run.

        Raises:
            UserError: no run has this number.
        """
        return self._numbered(RunRow, "run", number, "SELECT * FROM runs WHERE id = ?")

    def runs(self, target: str | None = None) -> list[RunRow]:
        """Run (of one target), the oldest first."""
        return self._records(RunRow, "SELECT * FROM runs WHERE ?1 IS NULL OR target = ?1 ORDER BY id", target)

    def add_finding(
        self, target: str, run: int, test: TestCase, verdict: Verdict, outcome: Outcome, origin: str = ""
    ) -> int | None:
        """Commit a finding at once.

        Args:
            origin: see `FindingRow`.

        Returns:
            Its id, or None where this test and oracle are on record already.
        """
        return self.add_findings(target, run, [(test, verdict, outcome)], origin)[0]

    def add_findings(
        self, target: str, run: int, found: Iterable[tuple[TestCase, Verdict, Outcome]], origin: str = ""
    ) -> list[int | None]:
        """Like `add_finding` for several of one origin, in one transaction."""
        ids: list[int | None] = []
        with self._transaction():
            for test, verdict, outcome in found:
                ids.append(
                    self._insert(
                        "findings",
                        verb="INSERT OR IGNORE",
                        target=target,
                        run=run,
                        api=test.invocation.api,
                        test=test,
                        verdict=verdict,
                        outcome=outcome,
                        key=finding_key(test, verdict.oracle),
                        found_at=self._now(),
                        origin=origin,
                    )
                )
        return ids

    def pending_findings(self, target: str) -> list[FindingRow]:
        """Return findings that have no result yet, the oldest first."""
        return self.findings(target, "pending")

    def findings(self, target: str, status: str | None = None, bug: int | None = None) -> list[FindingRow]:
        """Return findings of a target, of one status or one bug, the oldest first."""
        sql = """
            SELECT * FROM findings WHERE target = ?1 AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR bug = ?3)
            ORDER BY id
        """
        return self._records(FindingRow, sql, target, status, bug)

    def settle_finding(
        self,
        finding: int,
        status: str,
        *,
        reason: str = "",
        hits: int = 0,
        runs: int = 0,
        bug: NewBug | int | None = None,
    ) -> int | None:
        """Give a pending finding its result, in one transaction with its bug; a settled one stays as it is.

        Args:
            status: confirmed, flaky, rejected, duplicate.
            bug: the id of a bug on record, or a new bug. If the signature of a new bug is on record, the finding joins
                that bug as a duplicate. A minimised test then replaces one that is not minimised, and a bug without an
                origin gets the finding's. If another target of the library has shown a new bug before, the finding
                becomes a check of that bug too.

        Returns:
            The bug's id.

        Raises:
            UserError: there is no such finding.
        """
        with self._transaction():
            row = self._numbered(FindingRow, "finding", finding, "SELECT * FROM findings WHERE id = ?")
            if row.status != "pending":
                return row.bug
            if not isinstance(bug, NewBug):
                number, known = bug, False
            else:
                number, known = self._upsert_bug(row.target, bug, row.found_at)
            cells = {"status": "duplicate" if known else status, "reason": reason, "hits": hits, "runs": runs}
            self._update("findings", finding, **cells, bug=number)
            self._db.execute(_LOCATE, (number, finding))
        return number

    def _upsert_bug(self, target: str, bug: NewBug, found_at: str) -> tuple[int, bool]:
        signature = signature_digest(bug.signature)
        known = self._rows("SELECT id, minimised FROM bugs WHERE target = ? AND signature = ?", target, signature)
        if known:
            number = int(known[0]["id"])
            if bug.minimised and not known[0]["minimised"]:
                self._improve(number, bug)
            elif bug.suspicion:
                self._update("bugs", number, suspicion=bug.suspicion)
            return number, True
        shown = (target, signature, bug.hits, bug.runs, stored(bug.outcome), self._now())
        self._db.execute(_SHOWN_AGAIN, shown)
        cells = {**bug._asdict(), "signature": signature, "signature_text": bug.signature}
        return self._insert("bugs", target=target, **cells, findings=0, first_found=found_at) or 0, False

    def improve_bug(self, number: int, bug: NewBug) -> None:
        """Put a better test case, with script, outcome and rate, in the place of the bug's; the signature stays.

        Raises:
            UserError: there is no such bug.
        """
        self.bug(number)
        with self._transaction():
            self._improve(number, bug)

    def _improve(self, number: int, bug: NewBug) -> None:
        cells = bug._asdict()
        # A bug that was private once stays private, however small its script becomes.
        named = ("test", "script", "outcome", "hits", "runs", "minimised", *["suspicion"] * bool(bug.suspicion))
        self._update("bugs", number, **{name: cells[name] for name in named})

    def bugs(self, target: str | None = None) -> list[BugRow]:
        """Return bugs (of one target), the oldest first."""
        return self._records(BugRow, "SELECT * FROM bugs WHERE ?1 IS NULL OR target = ?1 ORDER BY id", target)

    def bug(self, number: int) -> BugRow:
        """Return a bug.

        Raises:
            UserError: no bug has this number; the message names the bugs on record.
        """
        for bug in self._records(BugRow, "SELECT * FROM bugs WHERE id = ?", number):
            return bug
        known = ", ".join(str(row["id"]) for row in self._rows("SELECT id FROM bugs ORDER BY id LIMIT 20"))
        raise UserError(
            f"the state file {self.path} has no bug {number}",
            f"write a number that `nightfuzz bugs` lists: {known}" if known else "find bugs first: `nightfuzz run`",
        )

    def last_found(self) -> dict[int, str]:
        """Return when each bug was last found, by number: ISO 8601, UTC."""
        rows = self._rows("SELECT bug, MAX(found_at) AS at FROM findings WHERE bug IS NOT NULL GROUP BY bug")
        return {row["bug"]: row["at"] for row in rows}

    def save_news(self, target: str, news: Iterable[News], operators: Iterable[OperatorRow]) -> None:
        """Add what is new, in one transaction; what is known stays as it is."""
        with self._transaction():
            told = ((new.api, new.outcome_class, new.test, new.outcome_kind) for new in news)
            self._insert_all("news", ((None, target, *each) for each in told))
            self._insert_all("operators", ((target, *operator) for operator in operators))

    def news(self, target: str) -> list[News]:
        """List the outcome classes of a target's apis, in the order in which they were first shown."""
        rows = self._rows("SELECT api, class, outcome_kind, test FROM news WHERE target = ? ORDER BY id", target)
        return [News(*row.values()) for row in rows]

    def operators(self, target: str) -> list[OperatorRow]:
        """List the operators that a target's apis have dispatched to, by name and dtype."""
        sql = "SELECT name, dtype, api FROM operators WHERE target = ? ORDER BY name, dtype"
        return self._records(OperatorRow, sql, target)


def finding_key(test: TestCase, oracle: str) -> str:
    """Return the identity of a finding: the parts that replay, and the oracle.

    The parts that replay are the invocation with its elements, and the seed of the streams.
    """
    return digest_of(codec.dumps(test.invocation), str(test.seed), oracle, *([test.program] if test.program else []))


def signature_digest(signature: str) -> str:
    """Return the identity of a bug: the digest of its signature text."""
    return digest_of(signature)
