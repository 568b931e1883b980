"""Time-outs from an api's own history."""

from __future__ import annotations

from fuzz_core.campaign.patience import FACTOR, KNOWN_AFTER, LEAST_SECONDS, Patience


def test_an_api_of_which_little_is_known_has_a_third_of_the_time_and_more_where_it_is_slow() -> None:
    patience = Patience(3.0)
    assert patience.of("a") == 1.0
    patience.learn("a", KNOWN_AFTER - 1, 0.001)
    assert patience.of("a") == 1.0
    patience.learn("slow", 1, 0.1)
    assert patience.of("slow") == FACTOR * 0.1


def test_a_quick_api_has_little_and_a_slow_one_no_more_than_all() -> None:
    patience = Patience(3.0)
    for api, longest in (("quick", 0.001), ("middling", 0.05), ("slow", 1.0)):
        patience.learn(api, KNOWN_AFTER, longest)
    assert patience.of("quick") == LEAST_SECONDS
    assert patience.of("middling") == FACTOR * 0.05
    assert patience.of("slow") == 3.0


def test_the_longest_test_counts_however_long_ago() -> None:
    patience = Patience(3.0)
    patience.learn("a", KNOWN_AFTER, 0.1)
    patience.learn("a", 5000, 0.001)
    assert patience.of("a") == FACTOR * 0.1


def test_a_time_box_shorter_than_the_least_is_kept() -> None:
    patience = Patience(0.2)
    patience.learn("a", KNOWN_AFTER, 0.001)
    assert patience.of("a") == 0.2
