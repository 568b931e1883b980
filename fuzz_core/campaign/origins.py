"""With which build a bug came, as far as its bisections on record say."""

from __future__ import annotations

from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from fuzz_core.store.probes import Probe
from fuzz_core.store.store import Store

BAD, GOOD = "bad", "good"


class Came(NamedTuple):
    """bad: the oldest build that shows the bug, good: the newest before it that does not; None where none was found.

    tried: on how many builds it was run.
    """

    bad: Probe | None
    good: Probe | None
    tried: int

    @property
    def version(self) -> str:
        """The first bad version; empty where it is not known, as no good one stands before it."""
        return self.bad.build.rpartition("==")[2] if self.bad is not None and self.good is not None else ""


def came_with(store: Store, bug: int) -> Came:
    """What the builds that a bug was tried on say, in the order of their versions."""
    tried = sorted(store.probes(bug).values(), key=lambda probe: _order(probe.build))
    bad = next((probe for probe in tried if probe.status == BAD), None)
    before = tried[: tried.index(bad)] if bad is not None else []
    good = next((probe for probe in reversed(before) if probe.status == GOOD), None)
    return Came(bad, good, len(tried))


def _order(build: str) -> tuple[Version, str]:
    try:
        return Version(Version(build.rpartition("==")[2]).public), build
    except InvalidVersion:
        return Version("0.dev0"), build
