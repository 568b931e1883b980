"""Time from a worker's death to the next test, and from a time-out to the end of a hang.

A worker calls an api with two matrices again and again. After each stretch of work, its process is hit by SIGSEGV, or
stopped until the time-out.
"""

from __future__ import annotations

import os
import signal
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from bench.harness import STATE_FILE, LibraryOption, Measurement, TargetOption, made_target, subjects
from fuzz_core.execution.pool import Lease, Limits, Pool
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.codec import dumps
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, Tensor
from fuzz_core.ir.wire import OutcomeReport, Report
from fuzz_core.store.statefile import open_store
from fuzz_core.worker.plan import Header, write_plan

WORKING_SECONDS = 0.2
TIMEOUT = 1.0
MATRIX = Tensor("float32", (3, 4))


class Hitter:
    """Hits the worker of a pool with a signal, and keeps how long it takes until a test of the next lease has run."""

    def __init__(self, zygote: Zygote, api: str, number: int, count: int) -> None:
        self.api = api
        self.number = number
        self.count = count
        self.pool = Pool(zygote, 1, Limits(timeout=TIMEOUT))
        self.leases = 0
        self.began = 0.0  # when the first test of this lease had run
        self.hit = 0.0
        self.next_test: list[float] = []
        self.noticed: list[float] = []

    def next_lease(self) -> Lease | None:
        """Return a lease without end, `count` times after the first one."""
        self.leases += 1
        self.began = 0.0
        return Lease(self.leases, self.api, 0, 1 << 40, log=True) if self.leases <= self.count + 1 else None

    def message(self, lease: Lease, report: Report | None) -> None:
        """Take an outcome: the first one after a death ends one measurement, a later one begins the next."""
        now = time.monotonic()
        if not isinstance(report, OutcomeReport) or (self.hit and self.began):
            return
        if not self.began:
            self.began = now
            if self.hit:
                self.next_test.append(now - self.hit)
            self.hit = 0.0
        elif now - self.began > WORKING_SECONDS:
            child = self.pool.slots[0].child
            assert child is not None
            os.kill(child.pid, self.number)
            if self.number == signal.SIGSTOP and not child.journal.read().running:
                # A worker that stops between two tests is silent, and does not run into the time-out of a test.
                os.kill(child.pid, signal.SIGCONT)
                return
            self.hit = time.monotonic()

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        """Note when the pool reports a death."""
        self.noticed.append(time.monotonic() - self.hit)

    def measure(self, library: str) -> list[dict[str, object]]:
        """Run the pool and return milliseconds, median and maximum; of a hang, after its time-out."""
        self.pool.run(self, lambda: False, lambda: None)
        off = TIMEOUT if self.number == signal.SIGSTOP else 0.0
        what = "hang, after its time-out" if off else "crash"
        times = {"until it is noticed": self.noticed, "until the next test": self.next_test}
        return [
            {"library": library, "of a": f"{what}, {until}"}
            | {f"{of.__name__} ms": round(1000 * (of(seconds) - off), 1) for of in (statistics.median, max)}
            for until, seconds in times.items()
        ]


def measure(
    library: LibraryOption = None,
    target: TargetOption = None,
    count: Annotated[int, typer.Option(help="Number of crashes and of hangs to measure")] = 20,
) -> Measurement:
    """Measure how long a crash and a hang keep a worker from its next test."""
    rows: list[dict[str, object]] = []
    for subject in subjects(library, target):
        with TemporaryDirectory() as name, open_store(Path(name) / STATE_FILE) as store:
            made, path, api = (
                made_target(store, Path(name), subject.target),
                Path(name) / "plan.jsonl",
                subject.matrix_api,
            )
            space: dict[str, Any] = {"values": {}, "apis": [], "similarity": {}, "tensors": {}}
            header = Header(made.library, 0, ["crash"], [], {}, space)
            write_plan(path, header, [(1, api, dumps(Invocation(api, (MATRIX, MATRIX))))])
            with Zygote(made.python, made.library, "fuzz", path) as zygote:
                for number in (signal.SIGSEGV, signal.SIGSTOP):
                    rows += Hitter(zygote, api, number, count).measure(subject.library)
    return Measurement(rows)
