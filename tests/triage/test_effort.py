"""Who asks for billions of steps may wait for them; who asks for one and never gets it has found a bug."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fuzz_core.ir.values import Invocation, Seq, TestCase, prim
from fuzz_core.triage.effort import is_asked_for

STEP = 1e-6
HUGE = 2**40


def case(*args: int) -> TestCase:
    return TestCase(Invocation("lib.f", (Seq("list", tuple(map(prim, args))),)), 0)


def number(test: TestCase) -> int:
    (items,) = test.invocation.args
    assert isinstance(items, Seq)
    return int(items.items[0].value)  # type: ignore[union-attr]


def steps(each: float, limit: float = 3.0) -> Callable[[TestCase], float | None]:
    def seconds(test: TestCase) -> float | None:
        took = number(test) * each
        return took if took < limit else None

    return seconds


@pytest.mark.parametrize("each", [1e-9, 1e-6, 1e-3])
def test_a_time_that_grows_with_the_number_was_asked_for(each: float) -> None:
    assert is_asked_for(case(HUGE), steps(each))


def test_negative_numbers_and_several_are_replaced_together() -> None:
    seen: list[TestCase] = []

    def seconds(test: TestCase) -> float | None:
        seen.append(test)
        return steps(STEP)(test)

    assert is_asked_for(case(-HUGE, HUGE, 3), seconds)
    assert seen[0] == case(16, 16, 3)


@pytest.mark.parametrize(
    ("test", "seconds"),
    [
        (case(HUGE), lambda _: 1e-5),
        (case(HUGE), lambda _: 0.5),
        (case(HUGE), lambda _: None),
        (case(HUGE), lambda test: 1e-5 if number(test) < 2**20 else None),
        (case(HUGE), lambda test: 1e-5 if number(test) < 2**20 else 0.5),
        (case(7), steps(STEP)),
    ],
    ids=["flat", "slow", "never", "wraps", "jumps", "small"],
)
def test_what_does_not_grow_is_a_hang(test: TestCase, seconds: Callable[[TestCase], float | None]) -> None:
    assert not is_asked_for(test, seconds)
