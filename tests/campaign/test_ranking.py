"""Rankings: each api gets turns, an api is leased once at a time, and the bandit prefers apis with new behaviour."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.scheduler import MOST_SHARE, RANKINGS, BanditRanking, ranking_of
from fuzz_core.ir.errors import UserError

APIS = [f"api{n}" for n in range(30)]


@given(st.sampled_from(sorted(RANKINGS)), st.data())
def test_an_api_is_out_until_it_is_given_back(name: str, data: st.DataObject) -> None:
    ranking = ranking_of(name)(APIS[:4])
    out: list[str] = []
    for _ in range(data.draw(st.integers(1, 60))):
        if out and data.draw(st.booleans()):
            api = out.pop(data.draw(st.integers(0, len(out) - 1)))
            ranking.give(api, data.draw(st.floats(0, 9)), 5, data.draw(st.floats(0, 9)))
        else:
            taken = ranking.take()
            assert (taken is None) == (len(out) == 4)
            if taken is not None:
                assert taken not in out
                out.append(taken)


@pytest.mark.parametrize("name", sorted(RANKINGS))
def test_every_api_has_a_turn_before_any_has_two(name: str) -> None:
    ranking = ranking_of(name)(APIS)
    turns = []
    for _ in APIS:
        api = ranking.take()
        assert api is not None
        turns.append(api)
        ranking.give(api, 1.0, 50, 3.0)
    assert sorted(turns) == sorted(APIS)


def turns(rates: dict[str, float], count: int) -> Counter[str]:
    ranking = BanditRanking(APIS)
    taken: Counter[str] = Counter()
    for _ in range(count):
        api = ranking.take()
        assert api is not None
        taken[api] += 1
        ranking.give(api, 1.0, 50, rates.get(api, 0.0))
    return taken


def test_the_bandit_goes_where_the_news_is_and_starves_nobody() -> None:
    taken = turns({"api3": 5.0}, 1000)
    others = [count for api, count in taken.items() if api != "api3"]
    assert taken["api3"] > max(others)
    assert min(others) >= 1000 / 4 / len(APIS) - 1


def test_no_api_takes_more_than_its_share_by_news() -> None:
    taken = turns({"api3": 5.0}, 4000)
    assert taken["api3"] <= MOST_SHARE * 4000 + 1000 / 4 + 1


def test_the_bandit_turns_away_from_what_has_dried_up() -> None:
    ranking = BanditRanking(APIS)
    taken: Counter[str] = Counter()
    for turn in range(300):
        api = ranking.take()
        assert api is not None
        taken[api] += turn >= 60
        ranking.give(api, 1.0, 50, 5.0 if (api == "api3") == (turn < 60) and api in ("api3", "api7") else 0.0)
    assert taken["api7"] > taken["api3"]


def test_what_the_bandit_keeps_does_not_grow_with_the_turns() -> None:
    ranking = BanditRanking(APIS)
    for turn in range(5000):
        api = ranking.take()
        assert api is not None
        ranking.give(api, 1.0, 50, turn % 7 / 3)
    kept = [value for value in vars(ranking).values() if hasattr(value, "__len__")]
    assert len(kept) == 6 and {len(each) for each in kept} == {len(APIS)}


def test_an_unknown_schedule_is_a_user_error() -> None:
    with pytest.raises(UserError, match="greedy"):
        ranking_of("greedy")
