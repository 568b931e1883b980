"""Tests of differential and performance oracles without a GPU: the devices of the library disagree as planted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nightfuzz_fakelib.adapter import Adapter
from nightfuzz_fakelib.dialect import Dialect
from strategies import kept

from fuzz_core.adapters.dialect import DEVICE
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, Ref, Tensor, TestCase, prim
from fuzz_core.oracles.compare import Differential
from fuzz_core.oracles.cost import PRECISIONS
from fuzz_core.worker.execution import Execution, with_precision

MODES = ("cpu", "cuda", "cuda-nocudnn")


class Planted(Adapter):
    """An adapter of one api, `lib.f(x)` = x.

    Args:
        results: the value that each mode adds to the result.
        costs: the seconds that each dtype takes.
    """

    def __init__(self, results: dict[str, Any] | None = None, costs: dict[str, float] | None = None) -> None:
        self.results = results or {}
        self.costs = costs or {}
        self.mode = ""
        self.now = 0.0
        self.calls: list[tuple[str, str]] = []

    def clock(self) -> float:
        return self.now

    def device_modes(self) -> tuple[str, ...]:
        return MODES

    def enter(self, mode: str) -> str:
        self.mode = mode
        return mode.split("-")[0]

    def ref(self, ref: Ref, device: str) -> Any:
        return self.f

    def f(self, x: Any) -> Any:
        self.calls.append((self.mode, x.dtype.name))
        self.now += self.costs.get(x.dtype.name, 1e-3)
        added = self.results.get(self.mode, 0)
        if isinstance(added, Exception):
            raise added
        return x + added

    def reset(self, seed: int) -> None:
        np.random.seed(seed & 0xFFFFFFFF)

    def differences(self, reference: Any, other: Any, relation: str = "values") -> str:
        return "" if np.array_equal(reference, other) else f"{(reference != other).sum()} elements differ"


def every_test(execution: Execution) -> None:
    """Makes the oracles judge every test, in every mode."""
    for oracle in execution.oracles:
        oracle.share = 1.0
        if isinstance(oracle, Differential):
            oracle.share_of = lambda mode, dialect: 1.0  # type: ignore[method-assign]


def judged(adapter: Planted, *oracles: str, dtype: str = "float32") -> list[tuple[Verdict, Outcome]]:
    """Returns the verdicts on a test that the oracles' share includes."""
    execution = Execution(adapter, Dialect(), oracles, clock=adapter.clock)
    every_test(execution)
    return execution.judge(TestCase(Invocation("lib.f", (Tensor(dtype, (2, 2)),)), 7))[1]


def test_modes_that_agree_are_clean_and_all_run() -> None:
    adapter = Planted()
    assert judged(adapter, "differential") == []
    assert [mode for mode, _ in adapter.calls] == list(MODES)


@pytest.mark.parametrize("mode", ["cuda", "cuda-nocudnn"])
def test_a_mode_with_another_result_is_a_wrong_result(mode: str) -> None:
    [(verdict, evidence)] = judged(Planted({mode: 1}), "differential")
    assert verdict == Verdict("differential", "wrong-result", f"{mode}: 4 elements differ")
    assert (evidence.kind, evidence.text) == ("ok", "4 elements differ")


def test_a_wrong_reference_is_a_wrong_result_too() -> None:
    [(verdict, _)] = judged(Planted({"cpu": 1}), "differential")
    assert verdict.kind == "wrong-result"


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_that_refuses_is_compared_with_nothing(mode: str) -> None:
    assert judged(Planted({mode: ValueError("not implemented here")}), "differential") == []


def test_an_internal_error_in_one_mode_is_seen_by_the_crash_oracle_alone() -> None:
    adapter = Planted({"cpu": RuntimeError("INTERNAL ASSERT FAILED at f.cpp:1")})
    [(verdict, evidence)] = judged(adapter, "crash", "differential")
    assert (verdict.oracle, verdict.kind, evidence.name) == ("crash", "internal-error", "RuntimeError")


def test_a_device_that_is_lost_is_one_finding_and_nothing_after_it_is_judged() -> None:
    adapter = Planted({"cuda": RuntimeError("the device is lost")})
    execution = Execution(adapter, Dialect(), ["crash", "differential", "performance"], clock=adapter.clock)
    every_test(execution)
    [(verdict, evidence)] = execution.judge(TestCase(Invocation("lib.f", (Tensor("float32", (2, 2)),)), 7))[1]
    assert (verdict.oracle, verdict.kind, evidence.text) == ("crash", "crash", "the device is lost")
    assert [mode for mode, _ in adapter.calls] == ["cpu", "cuda"]
    assert execution.poisoned


def test_an_internal_error_on_the_device_alone_is_seen_by_the_crash_oracle() -> None:
    adapter = Planted({"cuda": RuntimeError("INTERNAL ASSERT FAILED at f.cu:1")})
    [(verdict, evidence)] = judged(adapter, "crash", "differential")
    assert (verdict.oracle, verdict.kind, verdict.detail) == ("crash", "internal-error", "cuda: RuntimeError")
    assert evidence.kind == "exception"


def test_the_first_mode_runs_once_for_all_oracles() -> None:
    adapter = Planted()
    judged(adapter, "crash", "differential")
    assert [mode for mode, _ in adapter.calls] == list(MODES)


def test_every_precision_is_timed_on_the_gpu() -> None:
    adapter = Planted()
    assert judged(adapter, "performance") == []
    assert {call for call in adapter.calls if call[0] == "cuda"} == {("cuda", precision) for precision in PRECISIONS}


@pytest.mark.parametrize(("low", "high"), [("float16", "float32"), ("float16", "float64"), ("float32", "float64")])
def test_a_precision_that_costs_more_than_a_higher_one_is_slow(low: str, high: str) -> None:
    costs = {"float16": 0.01, "float32": 0.011, "float64": 0.012, low: 0.15}
    [(verdict, evidence)] = judged(Planted(costs=costs), "performance")
    assert (verdict.oracle, verdict.kind) == ("performance", "slow")
    assert verdict.detail.startswith(f"cuda@{low}: cuda@{low} takes 1.50e-01 s")
    assert evidence.kind == "ok"


def test_a_precision_that_costs_less_or_hardly_more_is_clean() -> None:
    assert judged(Planted(costs={"float16": 0.03, "float32": 0.02, "float64": 0.01}), "performance") == []


def test_one_slow_call_among_many_is_noise() -> None:
    adapter = Planted()
    adapter.costs = Hiccup()
    assert judged(adapter, "performance") == []


class Hiccup(dict[str, float]):
    """Costs of a dtype: a second at the third and at the ninth call, else a millisecond."""

    asked = 0

    def get(self, key: str, default: Any = None) -> float:
        self.asked += 1
        return 1.0 if self.asked in (3, 9) else 1e-3


def test_tests_are_sampled_by_their_own_seed() -> None:
    adapter = Planted({"cuda": 1})
    execution = Execution(adapter, Dialect(), ["differential"], clock=adapter.clock)
    call = Invocation("lib.f", (Tensor("float32", (1,)),))
    found = [bool(execution.judge(TestCase(call, seed))[1]) for seed in range(800)]
    assert found == [bool(execution.judge(TestCase(call, seed))[1]) for seed in range(800)]
    assert abs(sum(found) / len(found) - DEVICE.share) < 0.05


def test_casting_keeps_what_is_no_float() -> None:
    call = Invocation(
        "lib.f", (Tensor("int64", (2,)), kept([1.5], "float64"), prim(2.5)), (("y", Tensor("float32", (3,))),)
    )
    cast = with_precision(call, "float16")
    assert cast.args[0] == call.args[0]
    assert cast.args[2] == prim(2.5)
    dtypes = [part.dtype for part in (cast.args[1], cast.kwargs[0][1]) if isinstance(part, Tensor)]
    assert dtypes == ["float16", "float16"]


def test_a_device_is_left_after_each_call_and_has_time_to_load_a_kernel() -> None:
    adapter = Planted({"cuda-nocudnn": ValueError("no kernel")})
    execution = Execution(adapter, Dialect(), ["differential"], clock=adapter.clock)
    every_test(execution)
    told: list[tuple[bool, str]] = []
    execution.alive = lambda dear, mode: told.append((dear, mode))
    execution.judge(TestCase(Invocation("lib.f", (Tensor("float32", (2, 2)),)), 7))
    assert adapter.mode == "cpu"
    assert told == [(True, "cuda"), (True, "cuda-nocudnn")]
