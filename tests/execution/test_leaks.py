"""Tests of leaks: memory growth raises a suspicion, repeated calls confirm it, and caches are no leaks."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from fakelib_plans import call, plan_of
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.execution.pool import Lease, Limits, Pool
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.wire import FindingReport, Report
from fuzz_core.worker.observers import LEAST_BYTES, ROUND, MemoryGrowth, left_behind


class Heap:
    """Memory that grows with each call, by the given bytes for each round of calls."""

    def __init__(self, *kept: int) -> None:
        self.kept = list(kept)
        self.bytes = self.calls = 0

    def call(self) -> None:
        self.calls += 1
        self.bytes += self.kept[(self.calls - 1) // ROUND]

    def held(self) -> int:
        return self.bytes


@pytest.mark.slow
@given(st.integers(0, 10 * LEAST_BYTES), st.integers(0, 10**6))
def test_what_each_call_leaves_is_a_leak_above_a_kilobyte_whatever_warming_up_took(each: int, first: int) -> None:
    heap = Heap(first, each, each)
    assert left_behind(heap.call, heap.held) == (each if each >= LEAST_BYTES else 0)


def test_what_fills_a_cache_or_grows_by_fits_and_starts_is_none() -> None:
    for kept in ((5000, 5000, 0), (0, 9000, 2000), (0, 0, 5000)):
        heap = Heap(*kept)
        assert left_behind(heap.call, heap.held) == 0


@given(st.integers(0, 500), st.integers(1, 300), st.data())
def test_growth_names_the_block_with_most_of_it(first: int, count: int, data: st.DataObject) -> None:
    sizes = {index: data.draw(st.integers(0, 3)) for index in range(first, first + count)}
    leaky = data.draw(st.sampled_from(sorted(sizes)))
    sizes[leaky] += 1000
    held = [0]
    growth = MemoryGrowth(lambda: held[0])
    for index, size in sizes.items():
        growth.before(index)
        held[0] += size
    more, block = growth.end(first + count)
    assert more == sum(sizes.values())
    assert leaky in block and block[0] >= first and block[-1] < first + count


class Told:
    """A source of one lease with a deadline; it keeps the findings and deaths of that lease."""

    def __init__(self, lease: Lease) -> None:
        self.waiting = [lease]
        self.findings: list[FindingReport] = []
        self.deaths: list[Outcome] = []

    def next_lease(self) -> Lease | None:
        return self.waiting.pop() if self.waiting else None

    def message(self, lease: Lease, report: Report | None) -> None:
        if isinstance(report, FindingReport):
            self.findings.append(report)

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        self.deaths.append(outcome)


def test_a_worker_finds_the_test_that_leaks(tmp_path: Path) -> None:
    hoarding = [call("hoard", -number) for number in range(1, 400)]
    plan = plan_of(tmp_path / "plan.jsonl", hoarding, oracles=["crash", "leak"])
    told = Told(Lease(1, "fakelib.hoard", 0, len(hoarding), until=time.monotonic() + 600.0))
    with Zygote(sys.executable, "fakelib", "fuzz", plan) as zygote:
        Pool(zygote, 1, Limits(timeout=600.0)).run(told, lambda: False, lambda: None)
    assert told.deaths == []
    [finding] = told.findings
    assert finding.verdict[:2] == ("leak", "leak")
    left = int(finding.outcome.text.split()[3])
    assert 60_000 < left < 70_000


def test_a_worker_whose_calls_leave_nothing_finds_none(tmp_path: Path) -> None:
    frugal = [call("hoard", number) for number in range(1, 400)]
    plan = plan_of(tmp_path / "plan.jsonl", frugal, oracles=["crash", "leak"])
    told = Told(Lease(1, "fakelib.hoard", 0, len(frugal), until=time.monotonic() + 600.0))
    with Zygote(sys.executable, "fakelib", "fuzz", plan) as zygote:
        Pool(zygote, 1, Limits(timeout=600.0)).run(told, lambda: False, lambda: None)
    assert told.findings == [] and told.deaths == []
