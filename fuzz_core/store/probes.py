"""What bisections have tried: the status of a build for a bug, kept so that the next call goes on from there."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from fuzz_core.store.base import Base, text, to_json

_SAVE = """
INSERT OR REPLACE INTO probes (bug, build, status, hits, runs, info, probed_at) VALUES (?, ?, ?, ?, ?, ?, ?)
"""


class Probe(NamedTuple):
    """A bug tried on a build. status: good, bad, or broken where the build cannot tell; it was shown in hits of runs.

    build: the spec that names it. info: JSON-able. probed_at: ISO 8601, UTC, set by the store.
    """

    build: str
    status: str
    hits: int
    runs: int
    info: dict[str, Any]
    probed_at: str = ""


class ProbeTables(Base):
    """The table `probes`."""

    def save_probe(self, bug: int, probe: Probe) -> None:
        """Commits a probe at once; it takes the place of an earlier one of the same build."""
        row = (bug, text(probe.build), probe.status, probe.hits, probe.runs, text(to_json(probe.info)), self._now())
        with self._transaction():
            self._db.execute(_SAVE, row)

    def probes(self, bug: int) -> dict[str, Probe]:
        """What is known of a bug's builds, by build, in the order in which they were tried."""
        sql = "SELECT build, status, hits, runs, info, probed_at FROM probes WHERE bug = ? ORDER BY probed_at, build"
        rows = [{**row, "info": json.loads(row["info"])} for row in self._rows(sql, bug)]
        return {row["build"]: Probe(**row) for row in rows}
