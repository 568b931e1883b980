"""Tests of slow calls: billions of requested steps may take long; a single step that never ends is a bug."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz_core.ir.elements import elements, is_vast, pack
from fuzz_core.ir.values import Fill, Invocation, Seq, Tensor, TestCase, prim
from fuzz_core.triage.effort import SLACK, Seconds, excuse

STEP = 1e-6
LIMIT = 3.0
HUGE = 2**40


ASKED = "takes as long as its numbers ask for"


def told(test: TestCase, seconds: Seconds, limit: float = LIMIT, needs: float = 1e9) -> str:
    """Returns the excuse for a call that needs the given seconds."""
    return excuse(test, seconds, lambda allowed: needs > allowed, limit)


def case(*args: int) -> TestCase:
    return TestCase(Invocation("lib.f", (Seq("list", tuple(map(prim, args))),)), 0)


def number(test: TestCase) -> int:
    (items,) = test.invocation.args
    assert isinstance(items, Seq)
    return int(items.items[0].value)  # type: ignore[union-attr]


def steps(each: float, limit: float = LIMIT) -> Seconds:
    def seconds(test: TestCase) -> float | None:
        took = number(test) * each
        return took if took < limit else None

    return seconds


@pytest.mark.parametrize("degrees", [[HUGE], [3, HUGE, 5, HUGE - 7]])
def test_an_integer_may_be_an_element_of_a_tensor(degrees: list[int]) -> None:
    """`legendre_polynomial_p(x, torch.tensor(271208791446))` takes as many steps as the tensor says."""
    data = pack(np.array(degrees, "int64"))
    degree = Tensor("int64", (len(degrees),), Fill("values", data=data))
    test = TestCase(Invocation("lib.f", (Tensor("int64", (2,), Fill()), degree)), 0)

    def seconds(test: TestCase) -> float | None:
        took = int(elements(test.invocation.args[1]).sum()) * STEP  # type: ignore[arg-type]
        return took if took < LIMIT else None

    assert told(test, seconds) == ASKED


@pytest.mark.parametrize(("shape", "vast"), [((1, 2**31), True), ((1, 4), False)])
def test_an_expanded_tensor_asks_for_time_by_its_size(shape: tuple[int, ...], vast: bool) -> None:
    expanded = Tensor("int64", shape, Fill(), strides=(0, 0))
    assert is_vast(TestCase(Invocation("lib.f", (Seq("list", (expanded,)),)), 0)) is vast


@pytest.mark.parametrize("each", [1e-9, 1e-6, 1e-3])
def test_a_time_that_grows_with_the_number_was_asked_for(each: float) -> None:
    assert told(case(HUGE), steps(each)) == ASKED


def test_negative_numbers_and_several_are_replaced_together() -> None:
    seen: list[TestCase] = []

    def seconds(test: TestCase) -> float | None:
        seen.append(test)
        return steps(STEP)(test)

    assert told(case(-HUGE, HUGE, 3), seconds) == ASKED
    assert seen[0] == case(4, 4, 3)


def test_a_time_that_grows_with_a_negative_number_was_asked_for() -> None:
    """The call loops from a negative number up to zero, and refuses a positive number at once."""

    def seconds(test: TestCase) -> float | None:
        return steps(STEP)(case(max(-number(test), 0)))

    assert told(case(-HUGE), seconds) == ASKED
    # The call hangs below a threshold, so its time does not grow with the number.
    assert told(case(-HUGE), lambda test: 0.0 if number(test) > -(2**20) else None) == ""


def test_a_time_that_grows_with_the_lowest_bits_was_asked_for() -> None:
    """A check of the call reads all bits of a negative number, and its loop reads 32 bits."""

    def seconds(test: TestCase) -> float | None:
        return 0.0 if number(test) > -HUGE else steps(STEP)(case(number(test) % 2**32))

    assert told(case(-2 * HUGE + 2**31), seconds) == ASKED
    assert told(case(-2 * HUGE + 2), seconds) == ""


def volume(test: TestCase) -> float | None:
    """Returns the seconds of a kernel with the given elements to each side, for the given channels."""
    (items,) = test.invocation.args
    assert isinstance(items, Seq)
    channels, side = (int(item.value) for item in items.items)  # type: ignore[union-attr]
    took = 2e-7 * channels * side**3
    return took if took < LIMIT else None


def test_small_numbers_ask_for_much_as_well() -> None:
    assert told(case(16, 120), volume, LIMIT) == ASKED


def test_one_number_grows_where_all_together_are_refused() -> None:
    def seconds(test: TestCase) -> float | None:
        (items,) = test.invocation.args
        assert isinstance(items, Seq)
        return steps(0.01)(test) if items.items[1].value == 512 else 1e-5  # type: ignore[union-attr]

    assert told(case(2048, 512), seconds, 5 * LIMIT) == ASKED


@pytest.mark.parametrize(
    ("test", "seconds"),
    [
        (case(HUGE), lambda _: 1e-5),
        (case(HUGE), lambda _: 0.5),
        (case(HUGE), lambda _: None),
        (case(HUGE), lambda test: 1e-5 if number(test) < 2**20 else None),
        (case(HUGE), lambda test: 1e-5 if number(test) < 2**20 else 0.5),
        (case(HUGE), lambda test: 0.02 + 0.02 * (number(test).bit_length() % 2)),
        (case(HUGE), lambda test: 0.003 if number(test) < 2**20 else 0.5),
        (case(3), steps(STEP)),
        (case(120), lambda test: number(test) * 1e-3 if number(test) < 100 else None),
    ],
    ids=["flat", "slow", "never", "wraps", "jumps", "noise", "two", "small", "too-little"],
)
def test_what_does_not_grow_enough_is_a_hang(test: TestCase, seconds: Seconds) -> None:
    assert told(test, seconds) == ""


def test_what_ends_within_the_limit_alone_is_no_hang() -> None:
    assert told(case(7), lambda _: None, needs=LIMIT - 0.1) == "ends within 3 s"


@pytest.mark.parametrize(("needs", "said"), [(2 * LIMIT, ASKED), (SLACK * LIMIT + 1, "")])
def test_what_promises_somewhat_less_than_the_limit_has_more_time_to_end(needs: float, said: str) -> None:
    assert told(case(1000), steps(0.0025), needs=needs) == said
