"""The bandit over kinds of mutation."""

from __future__ import annotations

from collections import Counter

from fuzz_core.campaign.foci import EVEN_PERIOD, Foci
from fuzz_core.mutation.focus import EVEN, FOCI
from fuzz_core.mutation.registry import MUTATORS


def chosen(rates: dict[str, float], count: int, foci: Foci) -> Counter[str]:
    found: Counter[str] = Counter()
    for _ in range(count):
        focus = foci.choose()
        found[focus] += 1
        foci.learn(focus, 1.0, rates.get(focus, 0.0))
    return found


def test_every_focus_is_tried_and_the_even_mix_keeps_its_share() -> None:
    found = chosen({}, 300, Foci())
    assert set(found) == {*FOCI, *MUTATORS}
    assert found[EVEN] >= 300 / EVEN_PERIOD


def test_the_kind_that_brings_most_is_chosen_most_and_no_other_is_dropped() -> None:
    found = chosen(dict.fromkeys([*FOCI, *MUTATORS], 1.0) | {"NaN Contents": 9.0}, 3000, Foci())
    others = [found[name] for name in (*FOCI, *MUTATORS) if name not in ("NaN Contents", EVEN)]
    assert found["NaN Contents"] > 2 * max(others)
    assert min(others) > 5


def test_it_follows_where_the_news_moves() -> None:
    foci = Foci()
    chosen({"type": 5.0}, 2000, foci)
    found = chosen({"beyond": 5.0}, 6000, foci)
    assert found["beyond"] > found["type"]


def test_kinds_that_are_off_are_no_focus() -> None:
    names = set(chosen({}, 300, Foci(["type", "Random List"])))
    assert not names & {"type", "Random List", "Primitive Mutation"}
    assert {"random", "Random Tuple"} <= names


def test_rules_that_a_worker_names_are_foci_or_nothing() -> None:
    assert Foci().named(["Random List", "Joint Dtype", "Made Up"]) == ["Random List", "call"]
    assert Foci(["Random List"]).named(["Random List"]) == []
