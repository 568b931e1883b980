"""Validation: calls that were traced run again, with and without time for all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fuzz_core.campaign import trace as module
from fuzz_core.campaign.carryover import FIRST, TraceReport, _portions, _Validation, validate
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.campaign.watch import Watch
from fuzz_core.execution.pool import Lease
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.wire import OutcomeReport

DOCS = TraceOptions(sources=["docs"])


def test_what_the_deadline_leaves_waits_and_is_run_the_next_time(fakelib_session: Session) -> None:
    store, key = fakelib_session.store, fakelib_session.target.key
    trace(fakelib_session, DOCS)
    numbers = {row.id for row in store.bodies(key)}
    store.mark_unchecked(key, numbers)
    late, in_time = TraceReport(), TraceReport()
    validate(fakelib_session, late, deadline=fakelib_session.clock() - 1.0)
    assert (
        late == TraceReport(waiting=len(numbers)) and {row.id for row in store.bodies(key, unchecked=True)} == numbers
    )
    validate(fakelib_session, in_time)
    assert in_time.valid and not in_time.waiting and not store.bodies(key, unchecked=True)


def test_no_seed_starts_in_the_time_for_running_again(fakelib_session: Session) -> None:
    over = replace(DOCS, deadline=fakelib_session.clock())
    report = trace(fakelib_session, over)
    assert report.seeds and report.left == report.seeds and not report.new
    assert trace(fakelib_session, DOCS).new


def test_how_an_invocation_ended_goes_on_record_beside_the_words(fakelib_session: Session) -> None:
    store, key = fakelib_session.store, fakelib_session.target.key
    trace(fakelib_session, DOCS)
    one, other = store.bodies(key)[:2]
    work = _Validation(fakelib_session, [one, other._replace(api=one.api)])
    lease = Lease(1, one.api, 0, 2, log=True)
    work.death(lease, 0, Outcome("signal", "SIGSEGV", "at 0xdead"))
    work.message(lease, OutcomeReport(1, Outcome("exception", "ValueError", "no")))
    work.save()
    rows = store._rows("SELECT outcome_kind, reason FROM calls WHERE id IN (?, ?) ORDER BY place", one.id, other.id)
    assert [tuple(row.values()) for row in rows] == [
        ("signal", "signal SIGSEGV: at 0xdead"),
        ("exception", "exception ValueError: no"),
    ]


@pytest.mark.parametrize("count", [0, 1, FIRST, FIRST + 1, 1000])
def test_portions_cover_everything_once_and_begin_with_few(count: int) -> None:
    ranges = list(_portions(count))
    assert [n for first, last in ranges for n in range(first, last)] == list(range(count))
    assert all(last - first <= FIRST for first, last in ranges[:1])


class StopsAtPortion(Watch):
    """A watch whose clock has one second for each seed; the user interrupts as the third portion of seeds begins."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.now = 0.0

    def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None:
        self.phases.append(name)

    def advance(self, done: float, **figures: object) -> None:
        self.now += "seed" in figures

    def stopped(self) -> bool:
        return self.phases.count("tracing seeds") >= 3


def test_calls_are_checked_while_seeds_are_traced(fakelib_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted trace leaves valid calls, and not only the developers' error inputs."""
    monkeypatch.setattr(module, "CHECK_SECONDS", 2.5)
    store, key, watch = fakelib_session.store, fakelib_session.target.key, StopsAtPortion()
    session = replace(fakelib_session, watch=watch, stopped=watch.stopped, clock=lambda: watch.now)
    report = trace(session, DOCS)
    assert report.left and report.status.total()
    assert watch.phases[2:6] == ["tracing seeds", "checking recorded calls"] * 2
    rows = store.bodies(key)
    assert rows and all(row.valid for row in rows)
    assert trace(fakelib_session, DOCS).left == 0


def test_a_seed_that_outlasts_its_share_is_left_to_the_next_trace(fakelib_session: Session) -> None:
    """Calls traced before are checked, although the time for seeds is over."""
    now = [0.0]

    class Late(Watch):
        def advance(self, done: float, **figures: object) -> None:
            now[0] = max(now[0], 70.0 if "seed" in figures else 0.0)

    session = replace(fakelib_session, watch=Late(), clock=lambda: now[0])
    report = trace(session, replace(DOCS, deadline=90.0))
    assert 1 <= report.status.total() <= 2 and report.left == report.seeds - report.status.total()
    assert report.checked and not report.waiting


def test_tracing_has_the_least_time_where_a_target_starts_slowly(fakelib_session: Session) -> None:
    report = trace(fakelib_session, replace(DOCS, deadline=fakelib_session.clock() - 50.0, least=600.0))
    assert report.left == 0 and report.valid
