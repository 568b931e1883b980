from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.gandalf.experience import GUIDANCE
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.guidance import Guidance, Noting

NAMES = tuple("abcdef")
seeds = st.integers(0, 1000)


def grown(guidance: Guidance, length: int = 4) -> list[tuple[str, str]]:
    """Returns the choices for a chain of operators; any operator may follow any operator."""
    guide, before = Noting(guidance), ""
    for _ in range(length):
        before = guide(before, NAMES)
    return guide.chosen


@pytest.mark.parametrize("name", GUIDANCE)
class DescribeEveryGuidance:
    @given(seeds)
    def test_it_chooses_what_may_follow_the_same_each_time(self, name: str, seed: int) -> None:
        one, other = (GUIDANCE[name](Rng(seed), NAMES) for _ in range(2))
        for round_ in range(6):
            chosen = grown(one)
            assert chosen == grown(other) and all(each in NAMES for _, each in chosen)
            assert [before for before, _ in chosen] == ["", *(each for _, each in chosen[:-1])]
            for guidance in (one, other):
                guidance.learn_reward(chosen, float(round_ % 3) - 1.0)

    def test_nothing_is_out_of_reach(self, name: str) -> None:
        guidance, seen = GUIDANCE[name](Rng(1), NAMES), Counter[str]()
        for _ in range(200):
            chosen = grown(guidance)
            seen.update(each for _, each in chosen)
            guidance.learn_reward(chosen, 0.0)
        assert set(seen) == set(NAMES)


@pytest.mark.parametrize("name", sorted(set(GUIDANCE) - {"random"}))
def test_what_was_worth_something_is_chosen_more_often(name: str) -> None:
    guidance = GUIDANCE[name](Rng(5), NAMES)
    counts = []
    for _ in range(2):
        seen = Counter[str]()
        for _ in range(300):
            chosen = grown(guidance)
            seen.update(each for _, each in chosen)
            guidance.learn_reward(chosen, float(any(each == "d" for _, each in chosen)))
        counts.append(seen["d"] / seen.total())
    assert counts[1] > 1.2 / len(NAMES)


@pytest.mark.parametrize("name", ["q", "double-q"])
def test_a_trap_is_left(name: str) -> None:
    guidance = GUIDANCE[name](Rng(2), NAMES)
    for _ in range(40):
        guidance.learn_reward([("", "a"), ("a", "a")], 1.0)
    liked = sum(guidance.choose("", NAMES) == "a" for _ in range(300))
    for _ in range(40):
        guidance.learn_reward([("", "a"), ("a", "a")], -1.0)
    assert sum(guidance.choose("", NAMES) == "a" for _ in range(300)) < liked / 2


def test_every_operator_has_its_turn_before_any_has_two_more_than_another() -> None:
    guidance, seen = GUIDANCE["novelty"](Rng(4), NAMES), Counter[str]()
    for _ in range(60):
        chosen = grown(guidance, 1)
        seen.update(name for _, name in chosen)
        guidance.learn_reward(chosen, 0.0)
        assert max(seen.values()) - min(seen[name] for name in NAMES) <= 2


def test_a_value_comes_from_what_follows() -> None:
    guidance = GUIDANCE["q"](Rng(3), NAMES)
    for _ in range(60):
        guidance.learn_reward([("", "a"), ("a", "b")], 1.0)
        guidance.learn_reward([("", "c"), ("c", "d")], 0.0)
    assert sum(guidance.choose("", NAMES) == "a" for _ in range(200)) > 80
