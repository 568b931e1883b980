"""Tests of the time limit of a test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fuzz_core.execution.link import CompileClock
from fuzz_core.execution.pool import DEAR_FACTOR, Lease, WorkerSlot
from fuzz_core.worker.journal import Journal, make

LIMIT = 3.0


@pytest.fixture
def slot() -> Any:
    """Returns a slot whose worker has begun a test of its lease."""
    journal = Journal(make())
    lease = SimpleNamespace(pid=0, number=1, timeout=0.5)
    made = WorkerSlot(child=cast(Any, SimpleNamespace(pid=0, journal=journal)), lease=cast(Lease, lease))
    journal.begin(1, 7)
    return made


def test_a_test_has_the_time_of_its_lease(slot: Any) -> None:
    began = slot.child.journal.read().clock
    assert slot.overtime(began + 0.4, LIMIT, CompileClock(False)) is None
    assert slot.overtime(began + 0.6, LIMIT, CompileClock(False)).kind == "timeout"


def test_a_dear_mode_has_several_times_the_full_time(slot: Any) -> None:
    slot.child.journal.again(True)
    began = slot.child.journal.read().clock
    assert slot.overtime(began + LIMIT * DEAR_FACTOR - 0.1, LIMIT, CompileClock(False)) is None
    assert slot.overtime(began + LIMIT * DEAR_FACTOR + 0.1, LIMIT, CompileClock(False)).kind == "timeout"


def test_each_execution_has_its_own_time(slot: Any) -> None:
    first = slot.child.journal.read().clock
    slot.child.journal.again(False)
    entry = slot.child.journal.read()
    assert (entry.lease, entry.test) == (1, 7)
    assert entry.clock >= first
    assert slot.overtime(entry.clock + 0.6, LIMIT, CompileClock(False)).kind == "timeout"


def test_a_test_that_began_after_the_clock_was_read_has_taken_no_time(slot: Any) -> None:
    began = slot.child.journal.read().clock
    slot.since = began - 10 * LIMIT
    assert slot.overtime(began - 0.01, LIMIT, CompileClock(False)) is None
