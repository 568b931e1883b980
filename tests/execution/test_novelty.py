"""Tests of outcome classes: coarse, bounded, and new once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.worker.observers import MAX_CLASS, REPEATS_REPORTED, Novelty, outcome_class, outline

OK = Outcome("ok")


def shown(value: Any) -> str:
    return outcome_class(OK, outline(value))


def test_dtype_and_rank_tell_results_apart_but_not_elements_or_sizes() -> None:
    one = shown(np.zeros((2, 3), np.float32))
    assert one == shown(np.ones((7, 1), np.float32))
    others = [np.zeros(2, np.float32), np.zeros((2, 3), np.int64), None, 1, [np.zeros(2)], (np.zeros(2), 1), (1,) * 9]
    assert len({one, *map(shown, others)}) == 1 + len(others)


def test_a_result_that_cannot_be_looked_at_is_of_a_class_by_itself() -> None:
    class Broken:
        @property
        def dtype(self) -> object:
            raise RuntimeError("freed")

    assert shown(Broken()) == "ok ('Broken', 'unreadable')"


@pytest.mark.parametrize("name", ["dtype", "ndim"])
@pytest.mark.parametrize("value", [[1], ("float32", [1])], ids=str)
def test_a_result_with_attributes_that_are_no_keys_has_a_class(name: str, value: object) -> None:
    novelty = Novelty()
    results = [type("Spec", (), {name: each})() for each in (value, value, None)]
    new = [bool(novelty.of("lib.f", OK, outline(result))) for result in results]
    assert new == [True, False, True]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("expected 3 but got 4", "expected 12 but got -7"),
        ("size (2, 3) is bad", "size (4,) is bad"),
        ("no dtype 'int8'", "no dtype 'float32'"),
        ("first line\nat 0x7f", "first line\nat other"),
    ],
)
def test_what_varies_from_call_to_call_makes_no_new_class(one: str, other: str) -> None:
    first, second = (outcome_class(Outcome("exception", "ValueError", text), None) for text in (one, other))
    assert first == second


@given(st.text(), st.text())
def test_a_class_is_bounded_and_new_once(name: str, text: str) -> None:
    novelty, outcome = Novelty(), Outcome("exception", name, text)
    found = novelty.of("lib.f", outcome, None)
    assert 0 < len(found) <= MAX_CLASS
    assert novelty.of("lib.f", outcome, None) == ""
    assert novelty.of("lib.g", outcome, None) == found


def test_what_was_told_is_not_new_and_what_did_not_apply_is_none() -> None:
    novelty = Novelty()
    novelty.tell("lib.f", [shown(1)])
    assert novelty.of("lib.f", OK, outline(2)) == ""
    assert novelty.of("lib.f", Outcome("skipped", "BuildError", "too large"), None) == ""


def test_findings_that_look_alike_are_reported_a_few_times_those_of_another_mode_by_themselves() -> None:
    novelty = Novelty()

    def enough(mode: str, count: int) -> bool:
        text = f"other values\nMismatched elements: {count} / 400"
        return novelty.enough("f", Verdict("differential", "wrong-result", f"{mode}: {text}"), Outcome("ok", text=text))

    told = [enough("inplace", count) for count in range(REPEATS_REPORTED + 1)]
    assert told == [False] * REPEATS_REPORTED + [True]
    assert not enough("compile", 1)


def test_an_exception_is_the_same_one_in_every_mode() -> None:
    novelty = Novelty()
    outcome = Outcome("exception", "SystemError", "returned NULL without setting an exception")
    verdicts = [Verdict("crash", "internal-error", f"{mode}: SystemError") for mode in ("cpu", "compiled", "threaded")]
    assert [novelty.enough("f", verdict, outcome) for verdict in verdicts] == [False, False, True]
