"""Tests of a library that compiles while it runs: tests of compiled code come first."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.campaign.listener import FuzzReport
from fuzz_core.ir.values import Fill, Invocation, Seq, Tensor, TestCase, Then, prim
from fuzz_core.worker.loop import COLD_TESTS, MAX_POSTPONED, WARM_TESTS, Compiling, kind


def case(dtype: str = "float32", shape: tuple[int, ...] = (2,), seed: int = 0) -> TestCase:
    return TestCase(Invocation("lib.add", (Tensor(dtype, shape, Fill(key=seed)),)), seed)


def compile_something() -> None:
    """Starts a child that takes processor time, as a compiler does."""
    subprocess.run([sys.executable, "-c", "sum(range(10**5))"], check=True)


def compiled(sparing: Compiling, test: TestCase) -> None:
    compile_something()
    assert sparing.executed(test)


def test_after_something_was_compiled_tests_of_known_kinds_come_first() -> None:
    sparing = Compiling()
    first, other = case(), case("int32")
    assert not sparing.postpones(first)
    compiled(sparing, first)
    assert sparing.postpones(other)
    for seed in range(WARM_TESTS):
        assert not sparing.postpones(case(shape=(seed + 3,), seed=seed))
        assert not sparing.executed(case(shape=(seed + 3,), seed=seed))
    assert not sparing.postpones(other)


def test_where_nothing_else_comes_a_new_kind_has_its_turn() -> None:
    sparing = Compiling()
    compiled(sparing, case())
    waits = [sparing.postpones(case("int32", seed=seed)) for seed in range(MAX_POSTPONED + 1)]
    assert waits == [True] * MAX_POSTPONED + [False]


def test_a_lease_compiles_a_few_times_and_the_next_one_again() -> None:
    sparing = Compiling()
    for rank in range(COLD_TESTS):
        compiled(sparing, case(shape=(2,) * (rank + 1)))
        sparing.warm = WARM_TESTS
    assert sparing.postpones(case("int32"))
    sparing.cold = 0
    assert not sparing.postpones(case("int32"))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 2**31))
def test_sizes_and_elements_compile_nothing_new(sizes: list[int], seed: int) -> None:
    same = case(shape=(1,) * len(sizes))
    assert kind(case(shape=tuple(sizes), seed=seed).invocation) == kind(same.invocation)


def test_dtypes_ranks_and_what_is_empty_are_kinds_of_their_own() -> None:
    kinds = {
        kind(case(*each).invocation) for each in (("float32", (2,)), ("int8", (2,)), ("int8", (2, 2)), ("int8", (0,)))
    }
    assert len(kinds) == 4
    nested = Invocation("lib.cat", (Seq("list", (Tensor("int8", (2,)),)),))
    made = Invocation("lib.Layer", (prim(1),), then=Then("__call__", (nested,)))
    assert kind(made) != kind(made._replace(then=Then("__call__", (Tensor("int8", (2,)),))))


def test_the_speed_without_what_compiled_is_told_apart() -> None:
    report = FuzzReport(tests=110, cold=10, seconds=10.0, working=20.0, compiling=10.0)
    assert report.warm_rate == 20.0
    assert report.speed == "11 per second, 20 without the 10 that compiled something"
    assert FuzzReport(tests=110, seconds=10.0, working=20.0).speed == "11 per second"
