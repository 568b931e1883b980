"""Tables about bugs on other builds, bisections and the registry of known bugs, and about changes between builds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.kinds import CHANGES
from fuzz_core.store.base import Base, text

KNOWN, OPEN, FIXED = "known", "open", "fixed"
REAL, NOT_REAL, DUPLICATE, WONT_FIX = JUDGEMENTS = ("real", "not-real", "duplicate", "wont-fix")
_COUNT = """
INSERT INTO known_matches (entry, bug, findings, last_seen) VALUES (?, ?, ?, ?)
ON CONFLICT (entry, bug) DO UPDATE SET findings = findings + excluded.findings, last_seen = excluded.last_seen
"""
_COUNTS = """
SELECT entry, count(*) AS bugs, sum(findings) AS findings, max(last_seen) AS last_seen FROM known_matches
GROUP BY entry ORDER BY entry
"""
_MODES = """
SELECT DISTINCT substr(detail, 1, instr(detail, ':') - 1) AS mode
FROM (SELECT json_extract(verdict, '$[2]') AS detail FROM findings WHERE bug = ?)
WHERE detail GLOB '?*:*' AND mode NOT GLOB '* *'
"""
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
_SET_STANDING = f"""
UPDATE bugs SET status = ?1
WHERE status IN (?3, ?4) AND id IN (SELECT ?2 UNION SELECT id FROM ({_LATER}) WHERE first = ?2)
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
    """The result of a bug's script on a target: shown, changed, flaky, clean or unrunnable.

    The script showed the bug in `hits` of `runs`.
    """

    target: str
    status: str
    hits: int
    runs: int
    outcome: Outcome


class CheckRow(NamedTuple):
    """A check on record."""

    id: int
    bug: int
    found: str  # the target that the bug was found on
    target: str
    status: str
    hits: int
    runs: int
    outcome: Outcome
    checked_at: str  # ISO 8601, UTC


class BuildRow(NamedTuple):
    """A build and what was done with it."""

    target: str
    library: str
    version: str
    made_at: str  # when it became a target, ISO 8601, UTC
    apis: int
    runs: int
    seconds: float  # wall time spent fuzzing
    tests: int
    findings: int
    opened: int  # bugs that it was the first to show
    checks: int


class KnownCount(NamedTuple):
    """Counts of an entry's matches: bugs, their findings, and the latest time (ISO 8601, UTC)."""

    entry: str
    bugs: int
    findings: int
    last_seen: str


class BugTrial(NamedTuple):
    """A bug tried on a build."""

    build: str  # the spec that names it
    status: str  # good, bad, or broken if the build cannot decide; the bug was shown in hits of runs
    hits: int
    runs: int
    info: dict[str, Any]  # JSON-able
    probed_at: str = ""  # ISO 8601, UTC, set by the store


class Judgement(NamedTuple):
    """The judgement of a person about a bug."""

    bug: int
    verdict: str  # one of JUDGEMENTS
    reason: str
    judged_at: str  # ISO 8601, UTC


class Change(NamedTuple):
    """A test case with another outcome on the target than on the baseline, with a script that prints the outcome."""

    api: str
    kind: str  # one of CHANGES
    signature: str  # `API: FAULT`
    test: TestCase
    script: str
    # before, after: outcomes on the baseline and the target; the text of an `ok` one is the script's output. hits of
    # runs: in how many fresh processes of both they differed.
    before: Outcome
    after: Outcome
    hits: int
    runs: int


class CheckTables(Base):
    """The tables `checks`, `known_matches`, `judgements`, `probes` and `changes`, and the status of bugs."""

    def add_checks(self, bug: int, checks: Iterable[NewCheck]) -> None:
        """Record what a bug did on some targets, in one transaction, in this order."""
        with self._transaction():
            for check in checks:
                self._insert("checks", bug=bug, **check._asdict(), checked_at=self._now())

    def checks(self, bug: int | None = None) -> list[CheckRow]:
        """List the checks, of one bug if it is named, the oldest first."""
        return self._records(CheckRow, _CHECKS, bug)

    def set_status(self, bug: int, status: str) -> None:
        """Make an open bug fixed, or a fixed one open, with all its rows; a known one stays known."""
        with self._transaction():
            self._db.execute(_SET_STANDING, (status, bug, OPEN, FIXED))

    def later_rows(self) -> dict[int, int]:
        """Return rows of bugs of which the library has an older row on another target.

        Each comes with the number of the older row.
        """
        return {row["id"]: row["first"] for row in self._rows(_LATER)}

    def builds(self) -> list[BuildRow]:
        """List the targets with their figures, in the order in which they were made."""
        return self._records(BuildRow, _BUILDS)

    def count_known(self, entry: str, bug: int, findings: int) -> None:
        """Count findings of a bug for the entry that matches it; the bug is known from now on."""
        with self._transaction():
            self._db.execute(_COUNT, (text(entry), bug, findings, self._now()))
            self._db.execute("UPDATE bugs SET status = ? WHERE id = ?", (KNOWN, bug))

    def reopen_bug(self, bug: int) -> None:
        """Take a known bug, which no entry matches any more, back among those that are reported."""
        with self._transaction():
            self._db.execute("UPDATE bugs SET status = ? WHERE id = ? AND status = ?", (OPEN, bug, KNOWN))

    def modes_that_show(self, bug: int) -> frozenset[str]:
        """Return the modes that the verdicts of a bug's findings name: those in which it has shown itself."""
        return frozenset(row["mode"] for row in self._rows(_MODES, bug))

    def known_counts(self) -> dict[str, KnownCount]:
        """Count the matches of each entry so far, by its name.

        Entries without a match are left out.
        """
        return {count.entry: count for count in self._records(KnownCount, _COUNTS)}

    def save_judgements(self, bugs: Iterable[int], verdict: str, reason: str) -> None:
        """Record what a person says of some bugs, in one transaction; it takes the place of an earlier judgement."""
        with self._transaction():
            self._insert_all(
                "judgements", [(bug, verdict, text(reason), self._now()) for bug in bugs], "INSERT OR REPLACE"
            )

    def judgements(self) -> dict[int, Judgement]:
        """Return the judgements of people, by the number of the bug."""
        rows = self._records(Judgement, "SELECT * FROM judgements ORDER BY bug")
        return {judgement.bug: judgement for judgement in rows}

    def save_probe(self, bug: int, probe: BugTrial) -> None:
        """Commit a probe at once; it takes the place of an earlier one of the same build."""
        cells = probe._replace(probed_at=self._now())._asdict()
        with self._transaction():
            self._insert("probes", verb="INSERT OR REPLACE", bug=bug, **cells)

    def probes(self, bug: int) -> dict[str, BugTrial]:
        """Return the probes of a bug by build, in the order in which they were tried."""
        sql = "SELECT * FROM probes WHERE bug = ? ORDER BY probed_at, build"
        return {probe.build: probe for probe in self._records(BugTrial, sql, bug)}

    def save_change(self, target: str, baseline: str, change: Change) -> None:
        """Keep a change; one with the same signature is replaced."""
        cells = change._asdict()
        with self._transaction():
            self._insert(
                "changes", verb="INSERT OR REPLACE", target=target, baseline=baseline, **cells, found_at=self._now()
            )

    def changes(self, target: str, baseline: str) -> list[Change]:
        """List the changes of a target against a baseline, worst first, then by api."""
        sql = "SELECT * FROM changes WHERE target = ? AND baseline = ? ORDER BY api, signature"
        return sorted(self._records(Change, sql, target, baseline), key=lambda change: CHANGES.index(change.kind))

    def compared(self) -> list[tuple[str, str]]:
        """Return (target, baseline) of every comparison that found a change, the latest last."""
        rows = self._rows("SELECT target, baseline FROM changes GROUP BY target, baseline ORDER BY MAX(id)")
        return [(row["target"], row["baseline"]) for row in rows]
