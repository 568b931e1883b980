"""Tests of the search over builds: right for any truth, in few tries, even if some builds cannot be installed."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.triage.bisect import MOST_RUNS, Answer, BuildSearch, Status, miss_probability, runs_needed

Truth = Callable[[int], Status]


def settle(
    search: BuildSearch, truth: Truth, known: dict[int, Status] | None = None
) -> tuple[dict[int, Status], list[int]]:
    """Follows the search to its end. Returns the status of each tried build, and the tried builds in their order."""
    known = dict(known or {})
    tried: list[int] = []
    while (build := search.next(known)) is not None:
        assert build not in known and 0 <= build < search.count
        tried.append(build)
        known[build] = truth(build)
    return known, tried


@st.composite
def worlds(draw: st.DrawFn, most: int = 80) -> tuple[int, int, frozenset[int]]:
    """Draws the number of builds, the first build with the bug, and the builds that are broken (never the newest)."""
    count = draw(st.integers(2, most))
    came = draw(st.integers(0, count - 1))
    broken = draw(st.frozensets(st.integers(0, count - 2), max_size=count // 2))
    return count, came, broken


def truth_of(came: int, broken: frozenset[int]) -> Truth:
    return lambda build: "broken" if build in broken else "bad" if build >= came else "good"


def right(count: int, came: int, broken: frozenset[int]) -> Answer:
    able = [build for build in range(count) if build not in broken]
    bad = min(build for build in able if build >= came)
    good = max((build for build in able if build < came), default=None)
    return Answer(bad, good, () if good is None else tuple(range(good + 1, bad)))


@given(worlds())
def test_the_answer_is_right_wherever_an_end_can_tell(world: tuple[int, int, frozenset[int]]) -> None:
    count, came, broken = world
    broken -= {0}
    search = BuildSearch(count, count - 1)
    known, _ = settle(search, truth_of(came, broken))
    answer = search.answer(known)
    assert answer == right(count, came, broken)
    assert all(known[build] == "broken" for build in answer.between)


@given(worlds())
def test_where_the_oldest_cannot_tell_nothing_false_is_said(world: tuple[int, int, frozenset[int]]) -> None:
    count, came, broken = world
    truth = truth_of(came, broken | {0})
    search = BuildSearch(count, count - 1)
    known, _ = settle(search, truth)
    answer = search.answer(known)
    assert answer.bad is not None and truth(answer.bad) == "bad"
    if answer.good is not None:
        assert answer == right(count, came, broken | {0})
    else:
        assert answer.bad == 0 or truth(answer.bad - 1) == "broken"


@given(worlds())
def test_what_fixed_is_what_broke_mirrored(world: tuple[int, int, frozenset[int]]) -> None:
    count, came, broken = world
    backward = BuildSearch(count, count - 1)
    forward = BuildSearch(count, 0, fixed=True)
    truth = truth_of(came, broken)
    known, tried = settle(backward, truth)
    mirrored, also = settle(forward, lambda build: truth(count - 1 - build))
    assert [count - 1 - build for build in tried] == also
    there, here = backward.answer(known), forward.answer(mirrored)
    assert there.bad is not None and here.bad == count - 1 - there.bad
    assert here.good == (None if there.good is None else count - 1 - there.good)
    assert here.between == tuple(sorted(count - 1 - build for build in there.between))


@given(st.integers(2, 300), st.data())
def test_few_tries_beyond_the_ends(count: int, data: st.DataObject) -> None:
    came = data.draw(st.integers(1, count - 1))
    truth = truth_of(came, frozenset())
    _, tried = settle(BuildSearch(count, count - 1, 0), truth)
    assert tried[:2] == [count - 1, 0]
    assert len(tried) - 2 <= math.ceil(math.log2(count - 1))


@pytest.mark.parametrize("good", [0, None])
def test_sixty_builds_with_a_broken_one_take_at_most_seven_beyond_the_ends(good: int | None) -> None:
    for came in range(1, 60):
        for broken in range(1, 59):
            known, tried = settle(BuildSearch(60, 59, good), truth_of(came, frozenset({broken})))
            good_ones = [build for build in tried if known[build] == "good"]
            # The ends are the bad build and the first good one.
            assert len([build for build in tried if build not in (59, good_ones[0])]) <= 7, (came, broken)


@given(worlds(), st.integers(0, 12))
def test_a_search_that_was_broken_off_goes_on_where_it_was(world: tuple[int, int, frozenset[int]], after: int) -> None:
    count, came, broken = world
    search, truth = BuildSearch(count, count - 1), truth_of(came, broken)
    known, tried = settle(search, truth)
    again, rest = settle(search, truth, {build: truth(build) for build in tried[:after]})
    assert (again, rest) == (known, tried[after:])


@given(worlds(), st.integers(1, 5))
def test_what_is_fetched_ahead_begins_with_the_next_and_holds_the_one_after(
    world: tuple[int, int, frozenset[int]], width: int
) -> None:
    count, came, broken = world
    search, truth = BuildSearch(count, count - 1), truth_of(came, broken)
    known: dict[int, Status] = {}
    _, tried = settle(search, truth)
    for build, following in pairwise(tried):
        ahead = search.ahead(known, width)
        assert ahead[0] == build and len(ahead) == len(set(ahead)) <= width
        assert not set(ahead) & set(known)
        known[build] = truth(build)
        # Three fetched builds include the next build after a bad answer and the next build after a good answer.
        if width >= 3 and known[build] != "broken":
            assert following in ahead
    assert search.ahead({**known, **{build: truth(build) for build in tried}}, width) == []


@pytest.mark.parametrize("status", ["good", "broken"])
def test_nothing_more_is_tried_where_the_bad_end_shows_nothing(status: Status) -> None:
    search = BuildSearch(10, 9)
    assert settle(search, lambda build: status) == ({9: status}, [9])
    assert search.answer({9: status}) == Answer(None, None)


@pytest.mark.parametrize("status", ["bad", "broken"])
def test_nothing_more_is_tried_where_the_good_end_is_not(status: Status) -> None:
    search = BuildSearch(10, 9, 2)
    assert search.next({9: "bad", 2: status}) is None


def test_a_long_run_of_builds_that_cannot_tell_is_left_in_strides() -> None:
    broken = frozenset(range(20, 44))
    known, tried = settle(BuildSearch(64, 63, 0), truth_of(10, broken))
    assert BuildSearch(64, 63, 0).answer(known) == Answer(10, 9)
    assert len([build for build in tried if build in broken]) < 8


def test_the_newest_change_counts_where_a_bug_came_twice() -> None:
    known: dict[int, Status] = {9: "bad", 7: "good", 4: "bad", 0: "good", 8: "good"}
    assert BuildSearch(10, 9).answer(known) == Answer(9, 8)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_more_silence_is_more_certainty(hits: int, others: int, silent: int) -> None:
    runs = hits + others
    assert miss_probability(hits, runs, 0) == 1.0
    assert 0.0 < miss_probability(hits, runs, silent + 1) < miss_probability(hits, runs, silent)
    if hits:
        assert miss_probability(hits, runs, silent + 1) < miss_probability(hits - 1, runs, silent + 1)


def test_the_chance_to_miss_is_that_of_the_rate_once_the_rate_is_known_well() -> None:
    assert miss_probability(70_000, 100_000, 4) == pytest.approx(0.3**4, rel=0.01)


@pytest.mark.parametrize(("hits", "runs", "needed"), [(5, 5, 4), (14, 20, 5), (70_000, 100_000, 4), (20, 100, 23)])
def test_as_many_runs_as_make_a_wrong_good_rare(hits: int, runs: int, needed: int) -> None:
    assert runs_needed(hits, runs) == needed
    assert miss_probability(hits, runs, needed) < 0.01 <= miss_probability(hits, runs, needed - 1)


def test_a_bug_that_hardly_shows_takes_the_most_runs_there_are() -> None:
    assert runs_needed(1, 100) == MOST_RUNS
