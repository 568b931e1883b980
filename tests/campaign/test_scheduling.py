"""The schedule: least cost first, everything handed out once, nothing lost to a death."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.foci import Foci
from fuzz_core.campaign.ranking import RANKINGS
from fuzz_core.campaign.scheduling import MAX_SLICE, MIN_SLICE, Schedule, slice_for
from fuzz_core.execution.pool import Lease


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def counted(counts: dict[str, int], budget: int, seed: int = 0, ranking: str = "fair") -> Schedule:
    return Schedule(counts, seed, Clock(), None, budget, ranking)


def order(schedule: Schedule) -> list[tuple[str, int, int]]:
    found = []
    while (lease := schedule.next()) is not None:
        found.append((lease.api, lease.first, lease.last))
        schedule.done(lease, lease.last, 0.0)
    return found


@given(st.integers(1, 2000), st.integers(1, 9), st.integers(0, 5), st.sampled_from(sorted(RANKINGS)), st.data())
def test_a_counted_run_hands_out_each_test_once_and_no_more_than_its_budget(
    budget: int, apis: int, seed: int, ranking: str, data: st.DataObject
) -> None:
    schedule = counted({f"api{n}": n for n in range(apis)}, budget, seed, ranking)
    handed: Counter[tuple[str, int]] = Counter()
    while (lease := schedule.next()) is not None:
        fate = data.draw(st.sampled_from(["done", "died", "retired"]))
        stop = data.draw(st.integers(lease.first, lease.last - 1))
        executed = range(lease.first, lease.last if fate == "done" else stop + 1)
        handed.update((lease.api, index) for index in executed)
        if fate == "died":
            schedule.died(lease, stop, 0.0)
        else:
            schedule.done(lease, executed.stop, 0.0)
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
    schedule = Schedule({"quick": 1, "slow": 1}, 0, Clock(), 0.1, ranking="fair")
    turns: Counter[str] = Counter()
    for _ in range(100):
        lease = schedule.next()
        assert lease is not None
        turns[lease.api] += 1
        schedule.done(lease, lease.first + 1, 0.9 if lease.api == "slow" else 0.1)
    assert turns == {"quick": 90, "slow": 10}


def test_in_a_time_box_an_api_that_hangs_goes_to_the_back() -> None:
    schedule = Schedule({"hangs": 1, "well": 1}, 0, Clock(), 0.1, ranking="fair")
    turns: Counter[str] = Counter()
    for _ in range(50):
        lease = schedule.next()
        assert lease is not None
        turns[lease.api] += 1
        if lease.api == "hangs":
            schedule.died(lease, lease.first, 3.0)
        else:
            schedule.done(lease, lease.first + 10, 0.1)
    assert turns["hangs"] <= 2


def test_a_lease_of_a_time_box_ends_with_its_slice() -> None:
    clock = Clock()
    schedule = Schedule({"a": 1}, 0, clock, 0.1)
    clock.now = 5.0
    lease = schedule.next()
    assert lease is not None and lease.until == 5.1
    assert counted({"a": 1}, 5).next() == Lease(1, "a", 1, 6)


def test_what_is_under_way_is_not_handed_out_again() -> None:
    schedule = Schedule({"a": 1}, 0, Clock(), 0.1)
    first = schedule.next()
    assert first is not None and schedule.next() is None
    schedule.died(first, 40, 0.5)
    again = schedule.next()
    assert again is not None and again.first == 41


def test_slices_lie_within_bounds() -> None:
    assert slice_for(1.0, 1, 10_000) == MIN_SLICE
    assert slice_for(3600.0, 8, 10) == MAX_SLICE
    assert slice_for(60.0, 2, 300) == 0.1


def test_what_found_something_is_tried_on_its_kin_next() -> None:
    schedule = Schedule({"a": 1, "b": 1}, 0, Clock(), None, 500, "bandit", Foci())
    schedule.encourage(["b", "unknown"], 1.5, ["Random List", "Made Up"])
    leases = {lease.api: lease for lease in (schedule.next(), schedule.next()) if lease is not None}
    assert leases["b"].focus == "Random List"
    schedule.done(leases["b"], leases["b"].last, 0.0)
    again = schedule.next()
    assert again is not None and again.api == "b" and again.focus != "Random List"


@pytest.mark.parametrize("ranking", sorted(RANKINGS))
def test_what_is_new_or_changed_has_its_turn_first(ranking: str) -> None:
    schedule = Schedule(dict.fromkeys("abcdefgh", 1), 3, Clock(), None, 400, ranking, None, {"e", "g", "unknown"})
    turns = [api for api, _, _ in order(schedule)]
    assert sorted(turns[:2]) == ["e", "g"]
    assert sorted(turns) == list("abcdefgh")


def test_what_is_new_or_changed_has_credit_until_others_show_more() -> None:
    schedule = Schedule(dict.fromkeys("abcdefgh", 1), 3, Clock(), None, 8000, "bandit", None, {"e"})
    turns = Counter(api for api, _, _ in order(schedule)[:40])
    assert turns["e"] > max(count for api, count in turns.items() if api != "e")
    plain = Schedule(dict.fromkeys("abcdefgh", 1), 3, Clock(), None, 8000, "bandit")
    assert Counter(api for api, _, _ in order(plain)[:40])["e"] < turns["e"]
