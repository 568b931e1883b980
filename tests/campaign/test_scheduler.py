"""The scheduler: order, size and timeouts of leases; when a fuzz ends early."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign import scheduler
from fuzz_core.campaign.fuzz import LEAST_SHARE, FuzzOptions, fuzz
from fuzz_core.campaign.scheduler import (
    MAX_SLICE,
    MIN_SLICE,
    RANKINGS,
    ExaminationBacklog,
    Scheduler,
    Timeouts,
    slice_for,
)
from fuzz_core.campaign.session import Session
from fuzz_core.execution.pool import Lease


class SchedulerClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def counted(counts: dict[str, int], budget: int, seed: int = 0, ranking: str = "fair") -> Scheduler:
    return Scheduler(counts, seed, SchedulerClock(), None, budget, ranking)


def order(scheduler: Scheduler) -> list[tuple[str, int, int]]:
    found = []
    while (lease := scheduler.next()) is not None:
        found.append((lease.api, lease.first, lease.last))
        scheduler.done(lease, lease.last, 0.0)
    return found


@given(st.integers(1, 2000), st.integers(1, 9), st.integers(0, 5), st.sampled_from(sorted(RANKINGS)), st.data())
def test_a_counted_run_hands_out_each_test_once_and_no_more_than_its_budget(
    budget: int, apis: int, seed: int, ranking: str, data: st.DataObject
) -> None:
    scheduler = counted({f"api{n}": n for n in range(apis)}, budget, seed, ranking)
    handed: Counter[tuple[str, int]] = Counter()
    while (lease := scheduler.next()) is not None:
        fate = data.draw(st.sampled_from(["done", "died", "retired"]))
        stop = data.draw(st.integers(lease.first, lease.last - 1))
        executed = range(lease.first, lease.last if fate == "done" else stop + 1)
        handed.update((lease.api, index) for index in executed)
        if fate == "died":
            scheduler.died(lease, stop, 0.0)
        else:
            scheduler.done(lease, executed.stop, 0.0)
    assert sum(handed.values()) == budget
    assert set(handed.values()) == {1}


def test_the_first_tests_of_an_api_are_left_out() -> None:
    assert order(counted({"a": 7}, 60)) == [("a", 7, 57), ("a", 57, 67)]


def test_ties_are_broken_by_the_seed_and_by_nothing_else() -> None:
    counts = dict.fromkeys("abcdefgh", 1)
    assert order(counted(counts, 800, 1)) == order(counted(dict(reversed(counts.items())), 800, 1))
    assert order(counted(counts, 800, 1)) != order(counted(counts, 800, 2))


def test_every_api_has_a_turn_before_any_has_two() -> None:
    turns = [api for api, _, _ in order(counted(dict.fromkeys("abcd", 1), 400))]
    assert sorted(turns[:4]) == sorted(turns[4:]) == list("abcd")


def test_in_a_time_box_a_slow_api_pays_for_itself() -> None:
    scheduler = Scheduler({"quick": 1, "slow": 1}, 0, SchedulerClock(), 0.1, ranking="fair")
    turns: Counter[str] = Counter()
    for _ in range(100):
        lease = scheduler.next()
        assert lease is not None
        turns[lease.api] += 1
        scheduler.done(lease, lease.first + 1, 0.9 if lease.api == "slow" else 0.1)
    assert turns == {"quick": 90, "slow": 10}


def test_in_a_time_box_an_api_that_hangs_goes_to_the_back() -> None:
    scheduler = Scheduler({"hangs": 1, "well": 1}, 0, SchedulerClock(), 0.1, ranking="fair")
    turns: Counter[str] = Counter()
    for _ in range(50):
        lease = scheduler.next()
        assert lease is not None
        turns[lease.api] += 1
        if lease.api == "hangs":
            scheduler.died(lease, lease.first, 3.0)
        else:
            scheduler.done(lease, lease.first + 10, 0.1)
    assert turns["hangs"] <= 2


def test_a_lease_of_a_time_box_ends_with_its_slice() -> None:
    clock = SchedulerClock()
    scheduler = Scheduler({"a": 1}, 0, clock, 0.1)
    clock.now = 5.0
    lease = scheduler.next()
    assert lease is not None and lease.until == 5.1
    assert counted({"a": 1}, 5).next() == Lease(1, "a", 1, 6)


def test_what_is_under_way_is_not_handed_out_again() -> None:
    scheduler = Scheduler({"a": 1}, 0, SchedulerClock(), 0.1)
    first = scheduler.next()
    assert first is not None and scheduler.next() is None
    scheduler.died(first, 40, 0.5)
    again = scheduler.next()
    assert again is not None and again.first == 41


def test_slices_lie_within_bounds() -> None:
    assert slice_for(1.0, 1, 10_000) == MIN_SLICE
    assert slice_for(3600.0, 8, 10) == MAX_SLICE
    assert slice_for(60.0, 2, 300) == 0.1


@pytest.mark.parametrize("ranking", sorted(RANKINGS))
def test_what_is_new_or_changed_has_its_turn_first(ranking: str) -> None:
    scheduler = Scheduler(dict.fromkeys("abcdefgh", 1), 3, SchedulerClock(), None, 400, ranking, {"e", "g", "unknown"})
    turns = [api for api, _, _ in order(scheduler)]
    assert sorted(turns[:2]) == ["e", "g"]
    assert sorted(turns) == list("abcdefgh")


def test_what_is_new_or_changed_has_credit_until_others_show_more() -> None:
    scheduler = Scheduler(dict.fromkeys("abcdefgh", 1), 3, SchedulerClock(), None, 8000, "bandit", {"e"})
    turns = Counter(api for api, _, _ in order(scheduler)[:40])
    assert turns["e"] > max(count for api, count in turns.items() if api != "e")
    plain = Scheduler(dict.fromkeys("abcdefgh", 1), 3, SchedulerClock(), None, 8000, "bandit")
    assert Counter(api for api, _, _ in order(plain)[:40])["e"] < turns["e"]


def test_an_api_of_which_little_is_known_has_a_third_of_the_time_and_more_where_it_is_slow() -> None:
    timeouts = Timeouts(3.0)
    assert timeouts.of("a") == 1.0
    timeouts.learn("a", Timeouts.KNOWN_AFTER - 1, 0.001)
    assert timeouts.of("a") == 1.0
    timeouts.learn("slow", 1, 0.1)
    assert timeouts.of("slow") == Timeouts.FACTOR * 0.1


def test_a_quick_api_has_little_and_a_slow_one_no_more_than_all() -> None:
    timeouts = Timeouts(3.0)
    for api, longest in (("quick", 0.001), ("middling", 0.05), ("slow", 1.0)):
        timeouts.learn(api, Timeouts.KNOWN_AFTER, longest)
    assert timeouts.of("quick") == Timeouts.LEAST_SECONDS
    assert timeouts.of("middling") == Timeouts.FACTOR * 0.05
    assert timeouts.of("slow") == 3.0


def test_the_longest_test_counts_however_long_ago() -> None:
    timeouts = Timeouts(3.0)
    timeouts.learn("a", Timeouts.KNOWN_AFTER, 0.1)
    timeouts.learn("a", 5000, 0.001)
    assert timeouts.of("a") == Timeouts.FACTOR * 0.1


def test_a_time_box_shorter_than_the_least_is_kept() -> None:
    timeouts = Timeouts(0.2)
    timeouts.learn("a", Timeouts.KNOWN_AFTER, 0.001)
    assert timeouts.of("a") == 0.2


def test_what_takes_longer_to_examine_is_due_for_longer() -> None:
    exceptions, deaths = (ExaminationBacklog(start_up=5.0, workers=2, end=100.0) for _ in range(2))
    exceptions.add(["wrong-result"] * 10)
    deaths.add(["crash"] * 10)
    assert exceptions.seconds == 50.0 and deaths.seconds == 150.0
    assert not exceptions.is_full(49.0) and exceptions.is_full(50.0) and deaths.is_full(0.0)


def test_hangs_are_due_for_no_longer_than_the_time_that_is_kept_for_them() -> None:
    backlog = ExaminationBacklog(start_up=5.0, workers=2, end=100.0, kept=15.0)
    backlog.add(["hang"] * 40 + ["wrong-result"])
    assert not backlog.is_full(79.0) and backlog.is_full(80.0)


@pytest.fixture
def dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes examinations so slow that the first one fills the time kept for them."""
    monkeypatch.setattr(scheduler, "STARTS_PER_EXAMINATION", 10_000)


def test_a_fuzz_ends_early_where_its_findings_fill_the_time_that_is_kept_for_them(
    traced_session: Session, dear: None
) -> None:
    box = 20.0
    short = fuzz(traced_session, FuzzOptions(seconds=box, seed=1, examining=1.0))
    assert short.findings and short.seconds < box * (1 + LEAST_SHARE) / 2


def test_what_is_pending_is_due_from_the_beginning(traced_session: Session, dear: None) -> None:
    fuzz(traced_session, FuzzOptions(seconds=None, tests=2000, seed=1))
    assert traced_session.store.pending_findings(traced_session.target.key)
    again = fuzz(traced_session, FuzzOptions(seconds=10.0, seed=1, examining=1.0, patterns=("fakelib.add",)))
    assert again.seconds < 9.0
