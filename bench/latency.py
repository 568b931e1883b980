"""From a worker's death to the next test, and from the end of a time-out to the end of a hang.

`python -m bench.latency PYTHON LIBRARY API` calls API with two matrices again and again in one worker; each time it has
worked for a while its process is hit by SIGSEGV, or stopped until the time-out.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console

from bench.machine import machine
from fuzz_core.execution.pool import Lease, Limits, Pool
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.codec import dumps
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, Tensor
from fuzz_core.worker.plan import Header, write_plan

WORKING_SECONDS = 0.2
TIMEOUT = 1.0
MATRIX = Tensor("float32", (3, 4))


class Listening:
    """Hits the worker, and keeps how long it took until a test of the next lease had an outcome."""

    def __init__(self, api: str, number: int, count: int) -> None:
        self.api = api
        self.number = number
        self.count = count
        self.pool: Pool | None = None
        self.leases = 0
        self.began = 0.0
        self.hit = 0.0
        self.next_test: list[float] = []
        self.told: list[float] = []

    def next_lease(self) -> Lease | None:
        """A lease without end, as many as are wanted."""
        self.leases += 1
        self.began = 0.0
        return Lease(self.leases, self.api, 0, 1 << 40, log=True) if self.leases <= self.count + 1 else None

    def message(self, lease: Lease, message: dict[str, Any]) -> None:
        """An outcome: the first after a death ends one measurement, a later one begins the next."""
        now = time.monotonic()
        if "ran" not in message or (self.hit and self.began):
            return
        if not self.began:
            self.began = now
            if self.hit:
                self.next_test.append(now - self.hit)
            self.hit = 0.0
        elif now - self.began > WORKING_SECONDS:
            assert self.pool is not None
            child = self.pool.slots[0].child
            assert child is not None
            os.kill(child.pid, self.number)
            if self.number == signal.SIGSTOP and not child.journal.read().running:
                # Stopped between two tests, it would be silent instead of in a test for too long: not what is measured.
                os.kill(child.pid, signal.SIGCONT)
                return
            self.hit = time.monotonic()

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        """Told to the campaign."""
        self.told.append(time.monotonic() - self.hit)


def measure(zygote: Zygote, api: str, number: int, count: int) -> dict[str, float]:
    """Milliseconds: medians and the most, until a death is told and until the next test has an outcome."""
    listening = Listening(api, number, count)
    listening.pool = Pool(zygote, 1, Limits(timeout=TIMEOUT))
    listening.pool.run(listening, lambda: False, lambda: None)
    off = TIMEOUT if number == signal.SIGSTOP else 0.0
    figures = {"until told": listening.told, "until the next test": listening.next_test}
    return {
        f"{name}, {what}": round(1000 * (of(seconds) - off), 1)
        for name, seconds in figures.items()
        for what, of in (("median", statistics.median), ("most", max))
    }


def main(
    python: Annotated[str, typer.Argument(help="Interpreter of the target")],
    library: Annotated[str, typer.Argument(help="torch or tensorflow")],
    api: Annotated[str, typer.Argument(help="An api that takes two matrices")],
    count: Annotated[int, typer.Option(help="Deaths of each kind")] = 20,
) -> None:
    """Prints the figures as JSON."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plan.jsonl"
        space: dict[str, Any] = {"values": {}, "apis": [], "similarity": {}, "tensors": {}}
        header = Header(library, 0, ["crash"], [], {}, space)
        write_plan(path, header, [(1, api, dumps(Invocation(api, (MATRIX, MATRIX))))])
        with Zygote(python, library, "fuzz", path) as zygote:
            crash = measure(zygote, api, signal.SIGSEGV, count)
            hang = measure(zygote, api, signal.SIGSTOP, count)
    Console().print_json(json.dumps({"machine": machine(), "crash, ms": crash, "hang, ms after its time-out": hang}))


if __name__ == "__main__":
    typer.run(main)
