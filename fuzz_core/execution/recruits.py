"""Processes to put in a dead worker's place, forked before they are needed."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict

from fuzz_core.execution.health import Health, health
from fuzz_core.execution.link import Link
from fuzz_core.execution.scratch import NoSpace
from fuzz_core.execution.zygote import Zygote

# By then a new process has done what the library does first.
SETTLED_SECONDS = 1.0
# What the tests of so many apis leave behind is no doing of theirs: so the library is once it has begun to work.
NORMAL_APIS = 3


class Recruits:
    """One spare process per pool, and by it what a process looks like that has run no test."""

    def __init__(self, zygote: Zygote, memory: int) -> None:
        self.zygote = zygote
        self.memory = memory
        self.spare: Link | None = None
        self.since = 0.0
        # At first the zygote, then a spare process.
        self.fresh: Health | None = health(zygote.pid, zygote.root)
        self.settled = False
        self.blamed: dict[str, set[str]] = defaultdict(set)

    def keep(self) -> None:
        """Forked while the others work: a fork and what the library does first take longer than most tests."""
        if self.spare is None:
            # Who needs a process at once will say what is wrong.
            with contextlib.suppress(OSError, NoSpace):
                self.spare = self.zygote.order("fuzz", self.memory)
                self.since = time.monotonic()
        elif not self.settled and time.monotonic() - self.since > SETTLED_SECONDS:
            self.settled = True
            if self.zygote.delivers(self.spare):
                self.fresh = health(self.spare.pid, self.spare.directory)

    def take(self) -> Link:
        """The spare process, or a new one. Raises ZygoteError, NoSpace."""
        child, self.spare = self.spare, None
        if child is not None and self.zygote.delivers(child):
            if child.generation == self.zygote.generation:
                return child
            child.discard()
        return self.zygote.fork("fuzz", self.memory)

    def changed(self, seen: Health, api: str) -> bool:
        """Whether a process differs from a fresh one, after tests of an api, in what they alone can have done."""
        changes = seen.changes(self.fresh) if self.fresh is not None else set()
        unusual = [change for change in changes if len(self.blamed[change]) < NORMAL_APIS]
        for change in unusual:
            self.blamed[change].add(api)
        return bool(unusual)

    def close(self) -> None:
        """Ends the spare process."""
        child, self.spare = self.spare, None
        if child is not None and self.zygote.delivers(child):
            child.discard()
