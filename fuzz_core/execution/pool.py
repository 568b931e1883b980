"""Workers on leases: the event loop that hands work out, reads what comes back and survives every death."""

from __future__ import annotations

import contextlib
import json
import select
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

from fuzz_core.execution.faults import is_own_fault
from fuzz_core.execution.health import SpareProcess, health
from fuzz_core.execution.link import CompileClock, Link, Links, Stopwatch
from fuzz_core.execution.scratch import NoSpace, usage
from fuzz_core.execution.zygote import REMEDY, Zygote, ZygoteError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.wire import LeaseDone, Report, parse, report_in
from fuzz_core.worker.journal import DEAR

# A pipe holds 65,536 bytes.
MAX_NEWS = 48_000
# How much longer than a test a worker may take between two tests.
SILENT_FACTOR = 4
# How much longer a test may take in a way that takes its time, in its full time-out.
DEAR_FACTOR = 5
# A test may have begun since the clock was read.
AHEAD_SECONDS = 1.0
TICK = 0.05
FUTILE_STARTS = 5
# No library sends that signal by itself, and no crash is one.
KILLED = "SIGKILL"
KILLED_WEIGHT = 0.05
LOOK_SECONDS = 1.0
# How long a worker may live on after its pipe was closed.
CLOSED_SECONDS = 1.0
TRIES = 2
# A process that has run so many tests, has left so much in its directory or has grown by so much is replaced.
MOST_TESTS = 200_000
LITTER_BYTES = 1 << 20
GROWN_BYTES = 512 << 20
# How many processes it may have started.
MOST_PROCESSES = 64


@dataclass
class Lease:
    """A range of an api's tests for one worker; `log` asks for every outcome (validation)."""

    number: int
    api: str
    first: int
    last: int
    until: float | None = None
    log: bool = False
    timeout: float | None = None  # seconds per test, the pool's own where None
    # The outcome classes that the api's tests have shown so far, in order, each with its test in the corpus. The list
    # only grows, and a process gets each item once.
    news: Mapping[str, str | None] = field(default_factory=dict)
    shown: int = 0  # how many items the worker knows during this lease
    died_in: str = ""  # the mode in which its worker died, if not in the first; untrusted
    tries: Counter[int] = field(default_factory=Counter)  # how often a worker was killed from outside, by test
    sweep: bool = False  # whether the tests are cells of the sweep, which the crash oracle alone judges
    skip: Sequence[int] = ()  # tests of the range that are not run; a search sends such a call
    rows: Mapping[int, Sequence[int]] = field(default_factory=dict)  # the cells of tests of several cells at once

    def message(self, known: int = 0) -> dict[str, Any]:
        """Set `shown`, and return the message to a worker that knows the first `known` outcome classes."""
        fields: dict[str, Any] = {"lease": self.number, "api": self.api, "first": self.first, "last": self.last}
        fresh, left = [], MAX_NEWS
        for item in islice(self.news.items(), known, None):
            # As many as fit: a worker that does not read must not block the controller.
            left -= len(json.dumps(item)) + 2
            if left < 0:
                break
            fresh.append(item)
        self.shown = known + len(fresh)
        fields |= {"until": self.until, "log": self.log, "news": fresh}
        if self.sweep or self.skip:
            fields["skip"] = [test for test in self.skip if test >= self.first]
        if self.sweep:
            fields["rows"] = [[test, *row] for test, row in self.rows.items() if test >= self.first]
        return fields


class Listener(Protocol):
    """The campaign's reactions to the pool's events.

    Called on the controller's only thread.
    """

    def next_lease(self) -> Lease | None:
        """Return more work, or None; after other workers are done, the pool asks again."""

    def message(self, lease: Lease, report: Report | None) -> None:
        """Take a worker's report; None for a message that is no report."""

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        """Take the death of a worker in this test of the lease."""


@dataclass
class Limits:
    """The limits of a worker.

    A gigabyte is far more than a test below the element cap needs. A call that asks for a gigantic result fails soon.
    When the limit was three gigabytes, time-outs took two thirds of a TensorFlow run.
    """

    timeout: float = 3.0  # seconds per test
    memory: int = 1 << 30  # bytes per worker beyond the imported library
    disk: int = 256 << 20  # bytes in its directory


@dataclass
class WorkerSlot:
    """A worker's place in the pool: its process and the lease it works on."""

    child: Link | None = None
    lease: Lease | None = None
    tests: int = 0
    spent: bool = False  # the process is not to be used again
    since: float = 0.0  # when it got the lease
    resident: int = 0  # bytes of its memory at first
    known: Counter[str] = field(default_factory=Counter)  # how many outcome classes of an api it knows
    watch: Stopwatch | None = None  # of the test that it is in

    def overtime(self, now: float, limit: float, compiling: CompileClock) -> Outcome | None:
        """Return a time-out if the worker is in one test for longer than its limit, or silent between tests.

        Args:
            limit: seconds for tests of leases that have no limit of their own. Compiling does not count.
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
        if self.watch is None or (self.watch.began, self.watch.pid) != (began, self.child.pid):
            self.watch = Stopwatch(compiling, self.child.pid, began)
        taken = self.watch.seconds(now)
        if taken > (timeout if inside else limit * SILENT_FACTOR):
            return Outcome("timeout", f"{timeout:g} s", seconds=taken)
        return None


class Pool:
    """Runs leases on `workers` processes forked from one zygote, with one more ready to take a dead one's place.

    A pool runs once.
    """

    def __init__(self, zygote: Zygote, workers: int, limits: Limits) -> None:
        self.zygote = zygote
        self.listener: Listener
        self.limits = limits
        self.slots = [WorkerSlot() for _ in range(workers)]
        self.recruits = SpareProcess(zygote, limits.memory)
        self.links = Links[WorkerSlot](CompileClock(zygote.compiles))
        self.deaths = 0
        self.restarts = 0
        self.futile = 0.0
        self.looked = 0.0

    def run(
        self,
        listener: Listener,
        stop: Callable[[], bool],
        tick: Callable[[], None],
        width: Callable[[], int] | None = None,
    ) -> None:
        """Work until the listener has no more leases and none is under way, or `stop` says so.

        Args:
            width: how many leases may be under way at a time; None: as many as there are workers.

        Raises:
            ZygoteError: no worker can be had.
            UserError: the disk is full.
        """
        self.listener = listener
        try:
            while not stop():
                for slot in self._free(len(self.slots) if width is None else width()):
                    if (lease := self.listener.next_lease()) is not None:
                        self._hand(slot, lease, lease)
                if all(slot.lease is None for slot in self.slots):
                    return
                self.recruits.keep()
                for slot, lines, ended in self.links.wait(TICK):
                    assert slot.child is not None
                    for line in lines:
                        self._take(slot, line)
                    if ended:
                        self._bury(slot, None)
                    elif slot.child.is_flooded:
                        slot.child.kill()
                self._watch()
                tick()
        finally:
            self.recruits.close()
            self.links.close()

    def _free(self, width: int) -> list[WorkerSlot]:
        """Return slots for further leases, so that no more than `width` are under way."""
        free = [slot for slot in self.slots if slot.lease is None]
        return free[: max(width - (len(self.slots) - len(free)), 0)]

    def _hand(self, slot: WorkerSlot, lease: Lease, rest: Lease) -> None:
        """Give a slot a lease, or the part of it that a killed worker had not reached."""
        slot.lease = lease
        if slot.child is not None and slot.spent:
            self.links.bury(slot.child)
            slot.child = None
        if slot.child is None:
            slot.child = child = self._fresh(slot)
            slot.tests, slot.spent, slot.known = 0, False, Counter()
            seen = health(child.pid, child.directory)
            slot.resident = seen.resident if seen else 0
            self.restarts += 1
            self.links.add(child, slot)
        slot.since = time.monotonic()
        message = rest.message(slot.known[lease.api])
        lease.shown = slot.known[lease.api] = rest.shown
        # A worker that is already dead does not read the lease. Its end is handled below.
        with contextlib.suppress(OSError):
            slot.child.send(message, self.limits.timeout)

    def _fresh(self, slot: WorkerSlot) -> Link:
        """Return a new process; where the disk is full, workers that have filled it make room."""
        try:
            return self.recruits.take()
        except NoSpace:
            guilty = [each for each in self.slots if each is not slot and self._litters(each)]
            if not guilty:
                raise
            for each in guilty:
                self._bury(each, Outcome("oom", "disk", "no space left"))
            return self.recruits.take()

    def _litters(self, slot: WorkerSlot) -> bool:
        return slot.child is not None and usage(slot.child.directory, LITTER_BYTES) >= LITTER_BYTES

    def _take(self, slot: WorkerSlot, line: bytes) -> None:
        """Take a line; garbage on the pipe is the library's doing, so the line is dropped and the run goes on."""
        message = parse(line)
        if slot.lease is None or message is None:
            return
        lease = slot.lease
        report = report_in(message, lease.number, lease.last)
        changed = isinstance(report, LeaseDone) and self._has_changed(slot, lease.api)
        self.listener.message(lease, report)
        if isinstance(report, LeaseDone):
            slot.tests += min(report.next, lease.last) - lease.first
            slot.lease = None
            # A test changed the library's global state: later tests in this process would not replay.
            slot.spent = report.retire or slot.tests >= MOST_TESTS or changed

    def _has_changed(self, slot: WorkerSlot, api: str) -> bool:
        """Return whether a lease has left a change behind that the next lease would meet."""
        assert slot.child is not None
        seen = health(slot.child.pid, slot.child.directory)
        if seen is None or seen.resident - slot.resident > GROWN_BYTES or self._litters(slot):
            return True
        return self.recruits.changed(seen, api)

    def _watch(self) -> None:
        """End workers that are in one test for longer than the time-out, silent without being in any, or too big."""
        now = time.monotonic()
        look = now - self.looked > LOOK_SECONDS
        self.looked = now if look else self.looked
        for slot in self.slots:
            if slot.child is None:
                continue
            overtime = slot.overtime(now, self.limits.timeout, self.links.compiling)
            outcome = overtime or (self._overuse(slot.child) if look else None)
            if outcome is not None:
                self._bury(slot, outcome)
            elif slot.child.closed is not None and now - slot.child.closed > CLOSED_SECONDS:
                # The worker may have ended while this process did other work.
                ended = select.select([slot.child.pidfd], [], [], 0)[0]
                self._bury(slot, None if ended else Outcome("exit", "closed its pipe"))

    def _overuse(self, child: Link) -> Outcome | None:
        """Like memory that runs out: no fault of the library's."""
        seen = health(child.pid, child.directory)
        if seen is not None and seen.children > MOST_PROCESSES:
            return Outcome("oom", "processes", f"more than {MOST_PROCESSES} processes")
        if usage(child.directory, self.limits.disk) >= self.limits.disk:
            return Outcome("oom", "disk", f"more than {self.limits.disk} bytes of files")
        return None

    def _bury(self, slot: WorkerSlot, outcome: Outcome | None) -> None:
        """Take a dead or hanging worker out, and report the test of the lease that it was in."""
        child = slot.child
        assert child is not None
        ending = self.links.bury(child, retried=True)
        # A killed worker may have sent a finding before.
        for line in ending.lines:
            self._take(slot, line)
        slot.child = None
        lease, entry = slot.lease, ending.entry
        if lease is None:
            return
        began = entry.lease == lease.number and lease.first <= entry.test < lease.last
        index = entry.test if began else lease.first
        seen = outcome or ending.outcome
        killed = seen.name == KILLED
        # Workers that die one after another before their first test will never work, and their deaths are no finding.
        # Workers that were killed from outside may work later, so they weigh less.
        self.futile = 0.0 if began else self.futile + (KILLED_WEIGHT if killed else 1.0)
        if self.futile > FUTILE_STARTS:
            raise ZygoteError(f"workers end before their first test: {seen.kind} {seen.name}\n{seen.text}\n{REMEDY}")
        if outcome is None and (killed or is_own_fault(seen) or not began):
            # A kill from outside is no result of the test, and an earlier test may have damaged the process in which
            # our own code failed. So the test runs once more.
            lease.tries[index] += 1
            if lease.tries[index] < TRIES:
                self._hand(slot, lease, replace(lease, first=index))
                return
        self.deaths += 1
        slot.lease = None
        lease.died_in = entry.mode if began else ""
        self.listener.death(lease, index, seen)
