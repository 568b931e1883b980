"""Which api next: the one that has had the least so far, so that slow apis and hangs pay for themselves."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping

from fuzz_core.execution.pool import Lease
from fuzz_core.ir.rng import Rng

MAX_SLICE = 0.25
MIN_SLICE = 0.02
MAX_TESTS = 2000
COUNTED_TESTS = 50


class FairSchedule:
    """Leases by least cost so far; ties in an order drawn from the seed.

    With `slice_seconds`, cost is wall time and a lease ends when its slice does (a nightly time-box). Without, cost is
    the number of tests, nothing depends on the clock, and `budget` tests are handed out in all.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        seed: int,
        clock: Callable[[], float],
        slice_seconds: float | None = None,
        budget: int | None = None,
    ) -> None:
        rng = Rng(seed)
        self.heap = [(0.0, rng.random(), api) for api in sorted(counts)]
        heapq.heapify(self.heap)
        # The first tests of an api are its invocations unmutated: tracing has re-run those already.
        self.position = dict(counts)
        self.clock = clock
        self.slice = slice_seconds
        self.budget = budget
        self.numbers = 0
        self.order = {api: order for _, order, api in self.heap}
        self.cost = dict.fromkeys(counts, 0.0)
        self.rest: list[Lease] = []

    def next(self) -> Lease | None:
        """The next lease, or None when the budget is handed out (or all apis are under way)."""
        if self.rest:
            return self._numbered(self.rest.pop(0))
        if not self.heap or (self.budget is not None and self.budget <= 0):
            return None
        _, _, api = heapq.heappop(self.heap)
        tests = MAX_TESTS if self.slice is not None else min(COUNTED_TESTS, self.budget or COUNTED_TESTS)
        if self.budget is not None:
            self.budget -= tests
        return self._numbered(Lease(0, api, self.position[api], self.position[api] + tests))

    def _numbered(self, lease: Lease) -> Lease:
        self.numbers += 1
        lease.number = self.numbers
        lease.until = None if self.slice is None else self.clock() + self.slice
        return lease

    def done(self, lease: Lease, following: int, seconds: float) -> None:
        """A lease came back: `following` is the first test that was not run."""
        self.cost[lease.api] += seconds if self.slice is not None else following - lease.first
        self.position[lease.api] = following
        if self.slice is None and following < lease.last:
            self.rest.append(Lease(0, lease.api, following, lease.last))
            return
        self._push(lease.api)

    def died(self, lease: Lease, index: int, seconds: float) -> None:
        """A worker died in test `index` of the lease: the rest is leased again, in a counted run at once."""
        self.position[lease.api] = index + 1
        if self.slice is None and index + 1 < lease.last:
            self.rest.append(Lease(0, lease.api, index + 1, lease.last))
            return
        self.cost[lease.api] += seconds if self.slice is not None else index + 1 - lease.first
        self._push(lease.api)

    def _push(self, api: str) -> None:
        heapq.heappush(self.heap, (self.cost[api], self.order[api], api))


def slice_for(seconds: float, workers: int, apis: int) -> float:
    """A slice such that every api gets several turns in the time-box, between 20 and 250 ms."""
    return min(MAX_SLICE, max(MIN_SLICE, seconds * workers / max(apis, 1) / 4))
