"""Every oracle by its own examples, with the dialect of every library; and the rules it states."""

from __future__ import annotations

import pytest

from fuzz_core.adapters.dialect import DIALECTS, Dialect, dialect_of
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import KINDS, Outcome
from fuzz_core.ir.values import Fill, Invocation, Map, Seq, Tensor, TestCase, Then, prim
from fuzz_core.oracles.contract import ORACLES, oracle_of
from fuzz_core.oracles.performance import NOISE_SECONDS, PRECISIONS, RATIO, has_float_tensor

MODES = ("cpu", "cuda", "cuda-nocudnn")
TEST = TestCase(Invocation("lib.f", (Tensor("float32", (2, 3)),)), 1)
VERDICTS = {"clean", "crash", "internal-error", "hang", "slow", "leak", "bounds", "nonfinite", "inconsistent"}
VERDICTS |= {"wrong-result", "wrong-metadata", "wrong-gradient"}


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
    assert {mode.split("@")[0].rstrip("*") for mode in oracle.plan(TEST, modes)} <= set(modes)


@pytest.mark.parametrize("name", ORACLES)
def test_nothing_is_wrong_with_no_outcomes(name: str, dialect: Dialect) -> None:
    assert oracle_of(name).judge({}, dialect).clean


def test_one_device_leaves_nothing_to_compare() -> None:
    for name in ("differential", "performance"):
        assert not oracle_of(name).plan(TEST, ("cpu",))


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
    assert (verdict.kind, verdict.detail) == ("crash", f"{mode}: SIGSEGV")


def times(**seconds: float) -> dict[str, Outcome]:
    return {f"cuda@{precision}": Outcome("ok", seconds=cost) for precision, cost in seconds.items()}


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


@pytest.mark.parametrize("dtype", [*PRECISIONS, "bfloat16", "int32", "complex64"])
def test_precision_is_compared_where_there_is_a_tensor_that_has_one(dtype: str) -> None:
    tensor = Tensor(dtype, (2,), Fill())
    nested = Invocation("lib.C", (), (("x", Seq("list", (Map((("k", tensor),)),))),), Then("__call__", (prim(1),)))
    later = Invocation("lib.C", (), (), Then("__call__", (prim(1), tensor)))
    for call in (Invocation("lib.f", (tensor,)), nested, later, Invocation("lib.f", (nested,))):
        assert has_float_tensor(call) == (dtype in PRECISIONS)
        planned = oracle_of("performance").plan(TestCase(call, 1), MODES)
        assert list(planned) == ([f"cuda@{p}" for p in PRECISIONS] if dtype in PRECISIONS else [])


def test_an_unknown_oracle_is_the_users_error() -> None:
    with pytest.raises(
        UserError, match=r"(?s)unknown oracle 'crush'.*bounds, crash, differential, leak, nonfinite, performance"
    ):
        oracle_of("crush")
