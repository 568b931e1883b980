"""Tests of every oracle by its own examples, with the dialect of every library, and by the rules that it states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.adapters.dialect import DIALECTS, Dialect, dialect_of
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import KINDS, Outcome
from fuzz_core.ir.values import Fill, Invocation, Map, Seq, Tensor, TestCase, Then, prim
from fuzz_core.oracles.contract import ORACLES, oracle_of
from fuzz_core.oracles.cost import (
    LEAST_SAMPLES,
    NOISE_SECONDS,
    PRECISIONS,
    RATIO,
    chance,
    has_float_tensor,
    slower,
    timed,
)

MODES = ("cpu", "cuda", "cuda-nocudnn")
TORCH = dialect_of("torch")
TEST = TestCase(Invocation("lib.f", (Tensor("float32", (2, 3)),)), 1)
VERDICTS = {"clean", "crash", "internal-error", "hang", "slow", "leak", "bounds", "nonfinite", "inconsistent"}
VERDICTS |= {"wrong-result", "out-of-bounds", "wrong-metadata", "wrong-gradient", "regression", "changed", "fixed"}


@pytest.fixture(params=sorted(DIALECTS))
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return dialect_of(request.param)


@pytest.mark.parametrize("name", ORACLES)
def test_examples_get_the_verdict_they_must(name: str, dialect: Dialect) -> None:
    oracle = oracle_of(name)
    examples = oracle.examples(dialect)
    assert {example.verdict for example in examples} > {"clean"}
    for example in examples:
        verdict = oracle.judge(example.outcomes, dialect)
        assert (verdict.oracle, verdict.kind) == (name, example.verdict), example
        assert verdict.clean == (example.verdict == "clean")
        assert bool(verdict.detail) != verdict.clean
        assert verdict.kind in VERDICTS


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("modes", [(), ("cpu",), MODES])
def test_a_plan_asks_for_modes_that_there_are(name: str, modes: tuple[str, ...]) -> None:
    oracle = oracle_of(name)
    assert (oracle.name, 0 <= oracle.share <= 1) == (name, True)
    assert {mode.split("@")[0].rstrip("*") for mode in oracle.plan(TEST, modes, TORCH)} <= set(modes)


@pytest.mark.parametrize("name", ORACLES)
def test_nothing_is_wrong_with_no_outcomes(name: str, dialect: Dialect) -> None:
    assert oracle_of(name).judge({}, dialect).clean


def test_one_device_leaves_nothing_to_compare() -> None:
    for name in ("differential", "performance"):
        assert not oracle_of(name).plan(TEST, ("cpu",), TORCH)


@pytest.mark.parametrize("kind", KINDS)
def test_only_results_are_compared(kind: str, dialect: Dialect) -> None:
    outcomes = {"cpu": Outcome("ok"), "cuda": Outcome(kind, "" if kind == "ok" else "X", "some text")}
    assert oracle_of("differential").judge(outcomes, dialect).clean == (kind != "ok")


@pytest.mark.parametrize(
    ("library", "text"),
    [
        ("torch", "CUDA out of memory. Tried to allocate 2.00 GiB"),
        ("torch", "std::bad_alloc"),
        ("tensorflow", "OOM when allocating tensor with shape[9]"),
        ("tensorflow", "std::bad_alloc"),
    ],
)
def test_running_out_of_memory_is_no_bug_however_it_is_said(library: str, text: str) -> None:
    for kind, name in (("exception", "RuntimeError"), ("signal", "SIGABRT"), ("oom", "RuntimeError")):
        assert oracle_of("crash").judge({"cpu": Outcome(kind, name, text)}, dialect_of(library)).clean


@pytest.mark.parametrize("mode", MODES)
def test_a_crash_names_the_mode_it_happened_in(mode: str, dialect: Dialect) -> None:
    verdict = oracle_of("crash").judge({"cpu": Outcome("ok"), mode: Outcome("signal", "SIGSEGV")}, dialect)
    assert (verdict.kind, verdict.detail) == ("crash", f"{mode}: segmentation fault (SIGSEGV)")


def times(**seconds: float) -> dict[str, Outcome]:
    return {f"cuda@{precision}": timed([cost] * LEAST_SAMPLES) for precision, cost in seconds.items()}


@pytest.mark.parametrize(
    ("seconds", "kind"),
    [
        ({"float16": RATIO * 1e-2 + 2 * NOISE_SECONDS, "float32": 1e-2}, "slow"),
        ({"float16": RATIO * 1e-2 - 1e-4, "float32": 1e-2}, "clean"),
        ({"float16": NOISE_SECONDS, "float32": NOISE_SECONDS / 1000}, "clean"),
        ({"float32": 9e-2, "float64": 1e-2}, "slow"),
        ({"float16": 9e-2, "float64": 1e-2}, "slow"),
        ({"float64": 9e-2, "float32": 1e-2, "float16": 1e-2}, "clean"),
        ({"float16": 9e-2}, "clean"),
    ],
)
def test_less_precision_may_cost_a_factor_and_the_noise_more(seconds: dict[str, float], kind: str) -> None:
    verdict = oracle_of("performance").judge(times(**seconds), dialect_of("torch"))
    assert verdict.kind == kind


def test_a_single_run_or_a_few_say_nothing() -> None:
    for count in range(1, LEAST_SAMPLES):
        outcomes = {"cpu@": timed([1e-5] * count), "strided@": timed([1.0] * count)}
        assert oracle_of("performance").judge(outcomes, dialect_of("torch")).clean


def test_times_that_overlap_are_chance_however_far_their_medians_are() -> None:
    slow, fast = [1e-5, 1e-5, 1e-5, 1.0, 1.0, 1.0, 1.0], [1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1.0, 1.0]
    assert not slower(slow, fast, 10)
    assert slower([1.0] * 7, fast[:5] * 2, 10)


@given(st.lists(st.floats(1e-6, 10), min_size=5, max_size=20), st.lists(st.floats(1e-6, 10), min_size=5, max_size=20))
def test_the_chance_is_a_probability_and_one_direction_is_the_others_rest(a: list[float], b: list[float]) -> None:
    assert 0 <= chance(a, b) <= 1
    assert chance(a, b) + chance(b, a) >= 1
    assert not (slower(a, b, 10) and slower(b, a, 10))


def test_one_equivalent_mode_is_drawn_for_each_test_and_every_one_has_its_turn() -> None:
    oracle, modes = oracle_of("performance"), ("cpu", "strided", "out", "vmap", "onednn-off")
    planned = [tuple(oracle.plan(TEST._replace(seed=seed), modes, TORCH)) for seed in range(100)]
    assert set(planned) == {("cpu@", "strided@"), ("cpu@", "out@"), ("cpu@", "onednn-off@")}


@pytest.mark.parametrize("dtype", [*PRECISIONS, "bfloat16", "int32", "complex64"])
def test_precision_is_compared_where_there_is_a_tensor_that_has_one(dtype: str) -> None:
    tensor = Tensor(dtype, (2,), Fill())
    nested = Invocation("lib.C", (), (("x", Seq("list", (Map((("k", tensor),)),))),), Then("__call__", (prim(1),)))
    later = Invocation("lib.C", (), (), Then("__call__", (prim(1), tensor)))
    for call in (Invocation("lib.f", (tensor,)), nested, later, Invocation("lib.f", (nested,))):
        assert has_float_tensor(call) == (dtype in PRECISIONS)
        planned = oracle_of("performance").plan(TestCase(call, 1), MODES, TORCH)
        assert list(planned) == ([f"cuda@{p}" for p in PRECISIONS] if dtype in PRECISIONS else [])


def test_an_unknown_oracle_is_the_users_error() -> None:
    with pytest.raises(
        UserError, match=r"(?s)unknown oracle 'crush'.*bounds, crash, differential, leak, nonfinite, performance"
    ):
        oracle_of("crush")
