"""What bisections have tried: the status of a build for a bug, kept so that the next call goes on from there."""

from __future__ import annotations

from typing import Any, NamedTuple

from fuzz_core.store.base import Base


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
        cells = probe._replace(probed_at=self._now())._asdict()
        with self._transaction():
            self._insert("probes", verb="INSERT OR REPLACE", bug=bug, **cells)

    def probes(self, bug: int) -> dict[str, Probe]:
        """What is known of a bug's builds, by build, in the order in which they were tried."""
        sql = "SELECT * FROM probes WHERE bug = ? ORDER BY probed_at, build"
        return {probe.build: probe for probe in self._records(Probe, sql, bug)}
