"""Tests of the minimiser: it keeps the bug, never raises the cost, and reaches known minima of planted conditions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.elements import elements, pack
from fuzz_core.ir.tree import exchanged, positions
from fuzz_core.ir.values import NONE, Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, TestCase, Then, Value, prim
from fuzz_core.triage.cost import cost
from fuzz_core.triage.reduce import minimise

ZEROS = Fill("constant", 0.0, 0.0)


def never() -> bool:
    return False


def case(*args: Value, **kwargs: Value) -> TestCase:
    return TestCase(Invocation("torch.f", args, tuple(kwargs.items())), seed=7, origin=3, rules=("a",))


def tensors(test: TestCase) -> list[Tensor]:
    return [value for _, value in positions(test.invocation) if isinstance(value, Tensor)]


def integers(test: TestCase) -> list[int]:
    return [v.value for _, v in positions(test.invocation) if isinstance(v, Prim) and type(v.value) is int]


RICH = case(
    Tensor("float64", (4, 6, 5), Fill("uniform", -3.0, 9.0, 5, special=float("nan")), strides=(30, 1, 6)),
    prim(2**40 + 17),
    Seq("tuple", (prim(16), prim(-5), prim(True))),
    Invocation(
        "torch.nn.Linear",
        (prim(16), prim(8)),
        (("bias", prim(False)),),
        Then("__call__", (Tensor("float64", (3, 16)),)),
    ),
    mode=prim("bilinear"),
    dtype=Ref("dtype", "float64"),
    options=Map((("a", prim(2.75)), ("b", Slice(prim(3), NONE, prim(2))))),
    weight=Tensor("int32", (4, 4), Fill("values", data=pack(np.arange(16, dtype=np.int32))), "parameter", None, True),
)


def has_args(test: TestCase) -> bool:
    return len(test.invocation.args) >= 2


class DescribeMinimise:
    def test_reduces_everything_to_a_bare_call_where_anything_reproduces(self) -> None:
        found = minimise(RICH, lambda _: True, never)
        assert found.invocation == Invocation("torch.f")
        assert (found.seed, found.origin, found.rules) == (0, 3, ("a",))

    def test_leaves_a_test_alone_that_no_candidate_reproduces(self) -> None:
        assert minimise(RICH, lambda _: False, never) == RICH

    def test_stops_at_the_deadline_with_the_best_so_far(self) -> None:
        calls = iter([False] * 6)
        found = minimise(RICH, has_args, lambda: next(calls, True))
        assert cost(minimise(RICH, has_args, never)) < cost(found) < cost(RICH)

    def test_never_executes_a_candidate_twice(self) -> None:
        seen: list[TestCase] = []

        def reproduces(test: TestCase) -> bool:
            seen.append(test)
            return has_args(test)

        minimise(RICH, reproduces, never)
        assert len({(t.invocation, t.seed) for t in seen}) == len(seen)


def has_empty_dimension(test: TestCase) -> bool:
    return any(len(t.shape) > 2 and t.shape[2] == 0 for t in tensors(test))


def has_big_integer(test: TestCase) -> bool:
    return any(n > 2**31 for n in integers(test))


def has_float16(test: TestCase) -> bool:
    return any(t.dtype == "float16" for t in tensors(test))


def has_equal_pair(test: TestCase) -> bool:
    args = test.invocation.args
    return len(args) == 2 and args[0] == args[1] and isinstance(args[0], Prim) and type(args[0].value) is int


def matches_layer(test: TestCase) -> bool:
    """Returns whether a layer of n > 2 channels is applied to a tensor of n channels."""
    layer = [v for _, v in positions(test.invocation) if isinstance(v, Invocation) and v.api == "torch.nn.L"]
    if not layer or not tensors(test):
        return False
    channels = [v.value for v in layer[0].args if isinstance(v, Prim) and type(v.value) is int]
    return bool(channels) and channels[0] > 2 and tensors(test)[0].shape[-1:] == (channels[0],)


def has_bad_index(test: TestCase) -> bool:
    return any(t.dtype == "int64" and t.size and elements(t).max() > 100 for t in tensors(test))


def shares_batch(test: TestCase) -> bool:
    """Returns whether two matrices have equal first axes, and the second matrix has four columns."""
    shapes = [t.shape for t in tensors(test)]
    same = len(shapes) == 2 and len(shapes[0]) == len(shapes[1]) == 2 and shapes[0][0] == shapes[1][0]
    return same and shapes[1][1] == 4


def has_expanded(test: TestCase) -> bool:
    return any(t.strides and 0 in t.strides and t.requires_grad for t in tensors(test))


PLANTED: list[tuple[str, TestCase, Callable[[TestCase], bool], Invocation]] = [
    (
        "an empty third dimension",
        case(Tensor("float64", (4, 3, 0, 7)), prim(5), alpha=prim(2.5)),
        has_empty_dimension,
        Invocation("torch.f", (Tensor("float32", (1, 1, 0), ZEROS),)),
    ),
    (
        "an integer above 2**31",
        case(Tensor("float32", (4, 3)), prim(2**62), prim("x")),
        has_big_integer,
        Invocation("torch.f", (NONE, prim(2**31 + 1))),
    ),
    (
        "a negative number",
        case(prim(-(2**63))),
        lambda test: any(n < -1000 for n in integers(test)),
        Invocation("torch.f", (prim(-1001),)),
    ),
    (
        "a size below nothing, where nobody has memory for as large a one above it",
        case(prim(-(2**31) - 1)),
        lambda test: any(abs(n) > 2**30 for n in integers(test)),
        Invocation("torch.f", (prim(-(2**31) + 1),)),
    ),
    (
        "a dtype",
        case(Tensor("float16", (4, 3), Fill("uniform", -9.0, 9.0, special=float("inf")), "parameter", (1, 4), True)),
        has_float16,
        Invocation("torch.f", (Tensor("float16", (), ZEROS),)),
    ),
    (
        "two equal arguments",
        case(prim(123456), prim(123456), other=prim(1)),
        has_equal_pair,
        Invocation("torch.f", (prim(0), prim(0))),
    ),
    (
        "a layer and its input",
        case(
            Invocation("torch.nn.L", (prim(64), prim(4)), (("bias", prim(False)),)),
            Tensor("float64", (2, 9, 64), Fill("uniform", 0.0, 1.0, 3)),
        ),
        matches_layer,
        Invocation("torch.f", (Invocation("torch.nn.L", (prim(3),)), Tensor("float32", (3,), ZEROS))),
    ),
    (
        "an index out of range",
        case(Tensor("float32", (4, 3)), Tensor("int64", (5,), Fill("values", data=pack(np.array([0, 7, 4096, 3, 1]))))),
        has_bad_index,
        Invocation("torch.f", (NONE, Tensor("int64", (), Fill("constant", 101.0, 101.0)))),
    ),
    (
        "a shared batch",
        case(Tensor("float32", (4, 9)), Tensor("float32", (4, 4))),
        shares_batch,
        Invocation("torch.f", (Tensor("float32", (1, 1), ZEROS), Tensor("float32", (1, 4), ZEROS))),
    ),
    (
        "an expanded tensor that needs a gradient",
        case(Tensor("float64", (4, 3), strides=(0, 1), requires_grad=True)),
        has_expanded,
        Invocation("torch.f", (Tensor("float32", (1,), ZEROS, strides=(0,), requires_grad=True),)),
    ),
]


class DescribePlantedConditions:
    @pytest.mark.parametrize(("test", "condition", "minimum"), [p[1:] for p in PLANTED], ids=[p[0] for p in PLANTED])
    def test_reaches_the_known_minimum(
        self, test: TestCase, condition: Callable[[TestCase], bool], minimum: Invocation
    ) -> None:
        assert condition(test)
        assert minimise(test, condition, never).invocation == minimum

    def test_needs_few_executions_for_a_large_number(self) -> None:
        count = 0

        def reproduces(test: TestCase) -> bool:
            nonlocal count
            count += 1
            return has_big_integer(test)

        minimise(case(prim(2**62)), reproduces, never)
        assert count < 150


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**64), 2**64), st.floats(), st.text(max_size=4), st.complex_numbers()
).map(prim)
SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
FILLS = st.one_of(
    st.tuples(st.floats(-9, 0), st.floats(1, 9), st.integers(0, 99)).map(lambda t: Fill("uniform", *t)),
    st.sampled_from([0.0, 1.0, -3.5, 2.0**40, float("nan")]).map(lambda low: Fill("constant", low)),
    st.sampled_from([float("nan"), float("inf")]).map(lambda odd: Fill(special=odd)),
    st.just(Fill("values", data=pack(np.arange(8, dtype=np.int64)))),
)
DTYPES_DRAWN = st.sampled_from(["float32", "int64", "bool", "complex64", "bfloat16", "uint8", "float64"])


@st.composite
def tensors_drawn(draw: st.DrawFn) -> Tensor:
    shape = draw(SHAPES)
    strides = draw(st.none() | st.tuples(*(st.integers(0, 5) for _ in shape)))
    container = draw(st.sampled_from(["tensor", "parameter", "ndarray"]))
    return Tensor(draw(DTYPES_DRAWN), shape, draw(FILLS), container, strides, draw(st.booleans()))


VALUES = st.recursive(
    SCALARS | tensors_drawn() | st.sampled_from([Ref("dtype", "int8"), Ref("device", "cuda"), Prim("ellipsis", None)]),
    lambda inner: st.one_of(
        st.builds(Seq, st.sampled_from(["list", "tuple"]), st.lists(inner, max_size=3).map(tuple)),
        st.builds(Map, st.lists(st.tuples(st.sampled_from("abc"), inner), max_size=2).map(tuple)),
        st.lists(inner, max_size=2).map(lambda args: Invocation("torch.nn.A", tuple(args))),
        st.builds(Slice, SCALARS, SCALARS, SCALARS),
    ),
    max_leaves=6,
)
TESTS = st.builds(
    TestCase,
    st.builds(
        Invocation,
        st.just("torch.f"),
        st.lists(VALUES, max_size=3).map(tuple),
        st.lists(st.tuples(st.sampled_from(["dim", "out"]), VALUES), max_size=2).map(tuple),
        st.none() | st.lists(VALUES, max_size=1).map(lambda args: Then("step", tuple(args))),
    ),
    st.integers(0, 9),
    st.just(0),
    st.just(()),
    st.just(""),
)


def conditions(test: TestCase) -> list[Callable[[TestCase], bool]]:
    """Returns conditions that the test meets: on the number of tensors, dtypes, numbers, ranks and arguments."""
    dtypes = {t.dtype for t in tensors(test)}
    elements_at_all = sum(t.size for t in tensors(test))
    largest = max(integers(test), default=0)
    ranks = sorted(len(t.shape) for t in tensors(test))
    count = sum(1 for _ in positions(test.invocation))
    return [
        lambda other: {t.dtype for t in tensors(other)} >= dtypes,
        lambda other: sum(t.size for t in tensors(other)) * 2 >= elements_at_all,
        lambda other: max(integers(other), default=0) >= largest // 3,
        lambda other: sorted(len(t.shape) for t in tensors(other)) == ranks,
        lambda other: sum(1 for _ in positions(other.invocation)) % 2 == count % 2,
    ]


class DescribeProperties:
    def test_orders_numbers_that_overflow(self) -> None:
        assert cost(case(prim(2.0))) < cost(case(prim(1.7e308))) < cost(case(prim(complex(1.7e308, 1.7e308))))

    @given(TESTS, st.integers(0, 4))
    @examples(150)
    def test_reproduces_costs_no_more_and_is_idempotent(self, test: TestCase, which: int) -> None:
        condition = conditions(test)[which]
        found = minimise(test, condition, never)
        assert condition(found)
        assert cost(found) <= cost(test)
        assert minimise(found, condition, never) == found

    @given(TESTS, TESTS)
    @examples(100)
    def test_orders_test_cases_totally(self, one: TestCase, other: TestCase) -> None:
        same = cost(one) == cost(other)
        assert same or (cost(one) < cost(other)) != (cost(other) < cost(one))

    @given(TESTS)
    @examples(100)
    def test_finds_every_value_by_its_path(self, test: TestCase) -> None:
        for path, value in positions(test.invocation):
            assert exchanged(test.invocation, path, value) == test.invocation
            assert (path, NONE) in list(positions(exchanged(test.invocation, path, NONE)))
