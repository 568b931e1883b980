"""What the registry of known findings has matched: a match is counted, and its bug is kept out of reports."""

from __future__ import annotations

from typing import NamedTuple

from fuzz_core.store.base import Base, text

KNOWN, OPEN = "known", "open"
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


class KnownCount(NamedTuple):
    """What an entry has matched: bugs, their findings, and when last (ISO 8601, UTC)."""

    entry: str
    bugs: int
    findings: int
    last_seen: str


class KnownTables(Base):
    """The table `known_matches`, and the status of bugs that follows from it."""

    def count_known(self, entry: str, bug: int, findings: int) -> None:
        """Counts findings of a bug for the entry that matches it; the bug is known from now on."""
        with self._transaction():
            self._db.execute(_COUNT, (text(entry), bug, findings, self._now()))
            self._db.execute("UPDATE bugs SET status = ? WHERE id = ?", (KNOWN, bug))

    def reopen_bug(self, bug: int) -> None:
        """Takes a known bug, which no entry matches any more, back among those that are reported."""
        with self._transaction():
            self._db.execute("UPDATE bugs SET status = ? WHERE id = ? AND status = ?", (OPEN, bug, KNOWN))

    def modes_of(self, bug: int) -> frozenset[str]:
        """The modes that the verdicts of a bug's findings name: those in which it has shown itself."""
        return frozenset(row["mode"] for row in self._rows(_MODES, bug))

    def known_counts(self) -> dict[str, KnownCount]:
        """What each entry has matched so far, by its name; those that matched nothing are not there."""
        return {count.entry: count for count in self._records(KnownCount, _COUNTS)}
