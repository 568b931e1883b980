"""Plans of fakelib's calls, and a listener that keeps a pool's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fuzz_core.adapters.arrays import describe_array
from fuzz_core.execution.pool import Lease
from fuzz_core.ir.codec import dumps
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, Value, prim
from fuzz_core.ir.wire import FindingReport, LeaseDone, OutcomeReport, Report
from fuzz_core.worker.plan import Header, write_plan

NO_SPACE: dict[str, Any] = {"values": {}, "apis": [], "tensors": {}}


def call(name: str, *args: Any) -> Invocation:
    """Return a call of a function of fakelib with scalars and arrays."""
    return Invocation(f"fakelib.{name}", tuple(map(_described, args)))


def _described(value: Any) -> Value:
    return describe_array(value, "tensor") if isinstance(value, np.ndarray) else prim(value)


def plan_of(
    path: Path,
    invocations: Iterable[Invocation],
    seed: int = 0,
    library: str = "fakelib",
    oracles: Sequence[str] = ("crash",),
) -> Path:
    """Write a plan file of these invocations, numbered from 1."""
    rows = [(number, each.api, dumps(each)) for number, each in enumerate(invocations, 1)]
    bases = {
        api: [place for place, row in enumerate(r for r in rows if r[1] == api)] for api in {row[1] for row in rows}
    }
    write_plan(path, Header(library, seed, list(oracles), [], {}, NO_SPACE, bases=bases), rows)
    return path


class Listening:
    """A listener that hands out leases and keeps all reports.

    After a death or a retirement, it leases the tests again that the lease had left.
    """

    def __init__(self, *leases: tuple[str, int, int], on_message: Callable[[], None] = lambda: None) -> None:
        self.waiting = list(leases)
        self.on_message = on_message
        self.numbers = 0
        self.ran: dict[tuple[str, int], Outcome] = {}
        self.deaths: dict[tuple[str, int], Outcome] = {}
        self.findings: list[FindingReport] = []
        self.retired = 0

    def next_lease(self) -> Lease | None:
        """Return the next lease, in order."""
        if not self.waiting:
            return None
        self.numbers += 1
        return Lease(self.numbers, *self.waiting.pop(0), log=True)

    def message(self, lease: Lease, report: Report | None) -> None:
        """Keep outcomes and findings."""
        self.on_message()
        match report:
            case OutcomeReport(index, outcome):
                self.ran[lease.api, index] = outcome
            case FindingReport():
                self.findings.append(report)
            case LeaseDone():
                self.retired += report.retire
                self._rest(lease, report.next)

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        """Keep the outcome of the death."""
        self.deaths[lease.api, index] = outcome
        self._rest(lease, index + 1)

    def _rest(self, lease: Lease, first: int) -> None:
        if first < lease.last:
            self.waiting.insert(0, (lease.api, first, lease.last))
