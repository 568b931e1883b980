"""Tests of calls near a test case: the parts of the test case that they keep and remove."""

from __future__ import annotations

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.elements import elements, pack
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Fill, Invocation, Prim, Tensor, TestCase, prim
from fuzz_core.worker.nearby import (
    LARGEST,
    LEAST,
    aside,
    floated,
    grown,
    has_ties,
    moderated,
    nudged,
    rounded,
    scaled_down,
    with_rounded_scalars,
    with_valid_indices,
    without_ties,
    wrapped,
)


def case(*numbers: float, dtype: str = "float32") -> TestCase:
    data = pack(np.array(numbers, dtype=dtype))
    return TestCase(Invocation("a.b", (Tensor(dtype, (len(numbers),), Fill("values", data=data)),)), 1)


def numbers(test: TestCase) -> list[float]:
    return [float(number) for tensor in tensors_of(test.invocation) for number in elements(tensor)]


FILLS = st.builds(
    Fill, st.sampled_from(["uniform", "constant"]), strategies.numbers, strategies.numbers, st.integers(0, 9)
)


@given(strategies.tensors(fills=FILLS))
def test_shapes_and_layouts_stay(tensor: Tensor) -> None:
    test = TestCase(Invocation("a.b", (tensor,)), 1)
    for change in (aside, moderated, without_ties):
        (made,) = tensors_of(change(test).invocation)
        assert (made.shape, made.strides) == (tensor.shape, tensor.strides)
        assert made.dtype == tensor.dtype or change is not moderated
        assert len(elements(made)) == tensor.size


def test_equal_numbers_and_zeros_move_apart_by_little() -> None:
    moved = numbers(aside(case(2.0, 2.0, 0.0, 0.0)))
    assert len(set(moved)) == 4
    assert np.allclose(moved, [2.0, 2.0, 0.0, 0.0], atol=0.01)


def test_magnitudes_are_tempered_and_signs_and_zeros_kept() -> None:
    assert numbers(moderated(case(1e-20, -1e20, 0.0, 3.0))) == [LEAST, -LARGEST, 0.0, 3.0]


def test_ranks_keep_the_order_and_have_no_ties() -> None:
    test = case(7, 3, 7, -1, dtype="int8")
    assert has_ties(test)
    assert numbers(without_ties(test)) == [2, 1, 3, 0]
    assert not has_ties(without_ties(test))


def test_more_elements_than_a_dtype_has_numbers_are_told_apart_in_a_wider_one() -> None:
    many = TestCase(Invocation("a.b", (Tensor("int8", (300,), Fill("constant", 1.0, 1.0)),)), 1)
    assert numbers(without_ties(many)) == list(range(300))


def test_lengths_of_no_elements_grow_and_nothing_else() -> None:
    some, none = Tensor("float32", (2, 3)), Tensor("int8", (2, 0, 3), Fill("values"))
    made = list(tensors_of(grown(TestCase(Invocation("a.b", (some, none)), 1)).invocation))
    assert made[0] == some
    assert made[1].shape == (2, 1, 3)
    assert len(elements(made[1])) == 6


def test_what_is_nudged_is_double_and_hardly_moves() -> None:
    near = nudged(case(2.0, 2.0, -3.0, 0.0))
    [tensor] = tensors_of(near.invocation)
    found = elements(tensor)
    assert tensor.dtype == "float64"
    assert len(set(found)) == 4
    assert np.allclose(found, [2.0, 2.0, -3.0, 0.0], rtol=1e-5, atol=0.0)


def test_only_scalars_that_are_crowded_in_single_precision_are_rounded() -> None:
    call = TestCase(Invocation("fakelib.f", (prim(3), prim(2**24), prim(-3e8), prim(True), prim("a"))), 0)
    assert rounded(call, 1) == call
    values = [each.value for each in with_rounded_scalars(call, 1).invocation.args if isinstance(each, Prim)]
    assert values[0] == 3 and values[1] == 2**24 + 2 and values[2] < -3e8 and values[3:] == [True, "a"]


def test_tiny_numbers_move_aside_as_far_as_zero_and_keep_their_signs() -> None:
    one, other = numbers(aside(case(4e-19, 3e-19)))
    assert abs(one - other) > 1e-5 and one > 0 and other > 0
    assert numbers(aside(case(-4e-19)))[0] < -1e-5


def test_integers_become_the_same_real_numbers() -> None:
    (made,) = tensors_of(floated(case(3, -7, dtype="int64")).invocation)
    assert made.dtype == "float32" and list(elements(made)) == [3.0, -7.0]


@pytest.mark.parametrize(
    ("number", "low"),
    [(-(2**32), 0), (2**32 + 1, 1), (2**31, -(2**31)), (2**31 - 1, 2**31 - 1), (-1, -1), (2.0**40, 2.0**40)],
)
def test_an_integer_beyond_32_bits_is_what_its_lowest_32_bits_say(number: float, low: float) -> None:
    assert wrapped(TestCase(Invocation("a.b", (prim(number),)), 1)).invocation.args == (prim(low),)


def test_each_tensor_of_integers_is_brought_within_each_length_by_itself() -> None:
    real = Tensor("float32", (5, 3), Fill())
    labels, counts = (Tensor("int64", (2,), Fill("values", data=pack(np.array(v, "int64")))) for v in ([7, -1], [5, 2]))
    tests = with_valid_indices(TestCase(Invocation("lib.f", (real, labels, counts)), 1))
    drawn = [[elements(each).tolist() for each in tensors_of(test.invocation) if each != real] for test in tests]
    assert drawn == [[[4, 0], [5, 2]], [[2, 0], [5, 2]], [[7, -1], [4, 2]], [[7, -1], [2, 2]]]
    within = Invocation("lib.f", (real, labels._replace(fill=Fill("values", data=pack(np.array([0, 2], "int64"))))))
    assert list(with_valid_indices(TestCase(within, 1))) == []


def test_numbers_are_scaled_to_one_by_a_power_of_two() -> None:
    huge = Tensor("float64", (3,), Fill("values", data=pack(np.array([3e38, -1e30, np.inf]))))
    [made] = tensors_of(scaled_down(TestCase(Invocation("lib.f", (huge,)), 1)).invocation)
    first, second, last = elements(made).tolist()
    assert 1 <= first < 2 and second / first == -1e30 / 3e38 and last == np.inf


def test_no_two_of_many_equal_numbers_stay_equal() -> None:
    many = TestCase(Invocation("lib.f", (Tensor("float32", (25_600,), Fill("constant", 0.0)),)), 1, 1)
    [moved] = tensors_of(aside(many).invocation)
    drawn = elements(moved)
    assert (drawn == drawn.max()).sum() == (drawn == drawn.min()).sum() == 1
