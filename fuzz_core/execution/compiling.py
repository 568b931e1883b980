"""Seconds that processes of a library which compiles while it runs spend on that: no time-out counts them."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from fuzz_core.worker.descendants import children

# Beyond it nobody can say what a process has done between two looks.
GLANCE_SECONDS = 0.25
# A compiler that takes longer for one operator hangs.
MOST_SECONDS = 300.0
_LOCKS = Path("/proc/locks")
_WAITING = re.compile(r"^\d+: -> \w+ +\w+ +\w+ +(\d+) ", re.MULTILINE)


class Compiling:
    """A process compiles while it has a child (the compiler), or waits for a lock on a file (of the cache).

    Looked at from outside, now and then: what lies between two looks counts as the later one says, and as compiling
    where they lie far apart. counted: whether the library compiles at all. seconds: by process, over its life so far;
    before: at the last look but one.
    """

    def __init__(self, counted: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.counted = counted
        self.clock = clock
        self.looked = clock()
        self.seconds: defaultdict[int, float] = defaultdict(float)
        self.before: defaultdict[int, float] = defaultdict(float)

    def look(self, pids: Iterable[int]) -> None:
        """Counts the time since the last look for those that compile now."""
        if not self.counted:
            return
        now = self.clock()
        passed, self.looked = now - self.looked, now
        blocked = waiting()
        for pid in pids:
            self.before[pid] = self.seconds[pid]
            compiles = pid in blocked or bool(children(pid))
            self.seconds[pid] += passed if compiles else max(passed - GLANCE_SECONDS, 0.0)


class Excused:
    """How much later one deadline of a process is for its compiling."""

    def __init__(self, compiling: Compiling, pid: int) -> None:
        self.compiling = compiling
        self.pid = pid
        # Since the look before: what it did then is likely to be what it does now.
        self.before = compiling.before[pid]

    @property
    def seconds(self) -> float:
        """What it has spent on that since this was made."""
        return min(self.compiling.seconds[self.pid] - self.before, MOST_SECONDS)


def waiting() -> set[int]:
    """The processes that wait for a lock on a file; none where the kernel does not tell."""
    with suppress(OSError):
        return {int(pid) for pid in _WAITING.findall(_LOCKS.read_text(encoding="ascii", errors="replace"))}
    return set()
