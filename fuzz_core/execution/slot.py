"""One worker's place in the pool."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fuzz_core.execution.compiling import Compiling, Excused
from fuzz_core.execution.lease import Lease
from fuzz_core.execution.link import Link
from fuzz_core.ir.outcome import Outcome
from fuzz_core.worker.journal import DEAR

# How much longer than a test a worker may take between two tests.
SILENT_FACTOR = 4
# How much longer a test may take in a way that takes its time, in its full time-out.
DEAR_FACTOR = 5
# A test may have begun since the clock was read.
AHEAD_SECONDS = 1.0


@dataclass
class Slot:
    """One worker's place: its process and the lease it works on.

    spent: the process is not to be used again. since: when it got the lease. resident: bytes of its memory at first.
    tries: how often it was killed from outside in which test. excused: what of the test that began at `started` does
    not count.
    """

    child: Link | None = None
    lease: Lease | None = None
    tests: int = 0
    spent: bool = False
    since: float = 0.0
    resident: int = 0
    tries: Counter[tuple[int, int]] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    excused: Excused | None = None
    started: float = 0.0

    def overtime(self, now: float, limit: float, compiling: Compiling) -> Outcome | None:
        """A time-out where the worker is in one test for longer than its limit, or silent without being in any.

        limit: seconds for tests of leases that have no limit of their own. What it compiles does not count.
        """
        if self.child is None or self.lease is None:
            return None
        entry = self.child.journal.read()
        inside = bool(entry.running) and entry.lease == self.lease.number
        # A library may have written on the journal: a time far ahead would never be over.
        began = entry.clock if self.since < entry.clock <= now + AHEAD_SECONDS else self.since
        timeout = limit if self.lease.timeout is None else self.lease.timeout
        if entry.running == DEAR:
            timeout = limit * DEAR_FACTOR
        taken = now - began - self._excused(began, compiling)
        if taken > (timeout if inside else limit * SILENT_FACTOR):
            return Outcome("timeout", f"{timeout:g} s", seconds=taken)
        return None

    def _excused(self, began: float, compiling: Compiling) -> float:
        assert self.child is not None
        if self.excused is None or self.started != began or self.excused.pid != self.child.pid:
            self.excused, self.started = Excused(compiling, self.child.pid), began
        return self.excused.seconds
