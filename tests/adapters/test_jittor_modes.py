"""Jittor's modes other than devices: each finds its planted bug and accepts correct functions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fuzz_core
from fuzz_core.adapters.dialect import dialect_of, surroundings
from fuzz_core.adapters.jittor.dialect import identity
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, Then, prim
from fuzz_core.triage.process import run_script
from fuzz_core.triage.script import render_comparison

PROGRAM = """
import json
from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.modes import mode_of
from fuzz_core.ir.values import Fill, Invocation, Prim, Tensor, TestCase, Then, prim
from fuzz_core.oracles.compare import Differential
from fuzz_core.oracles.compare import Nonfinite
from fuzz_core.worker.execution import Execution

adapter = adapter_of("jittor")
jt = adapter.load()
adapter.prepare()
matrix = Tensor("float32", (2, 3), Fill(low=1.0, high=2.0))


class Halved(jt.Function):
    def execute(self, x):
        return x * x

    def grad(self, out):
        return out


turned, reindex = [], jt.Var.reindex
jt.Var.reindex = lambda x, *args: turned.append(reindex(x, *args)) or turned[-1]


def is_pending(x):
    return any(x is each for each in turned)


jt.p_pending = lambda x: x + 1 if is_pending(x) else x + 2
jt.p_gradient = lambda x: Halved()(x)
jt.p_single = lambda x: x.float32().float64() * 2
jt.p_overflows = lambda x: jt.exp(x * 0 + 100) * 1e-30
jt.p_infinite = lambda x: x / 0 if is_pending(x) else x / 0 * -1
jt.p_random = lambda x: x * jt.rand_like(x)

dialect = dialect_of("jittor")
execution = Execution(adapter, dialect, [])


def look(mode, call, seed=1):
    test = TestCase(call, seed)
    outcome = execution._outcome(test, mode, {"cpu": execution.run(test, "cpu")})
    oracle = Nonfinite() if mode == "cpu-fp64" else Differential()
    return [outcome.kind, outcome.name, outcome.text, oracle.judge({mode: outcome}, dialect).kind]


def of(name, tensor=matrix):
    return Invocation(f"jittor.{name}", (tensor,))


nan = Tensor("float32", (3,), Fill("constant", float("nan"), float("nan")))
linear = Invocation("jittor.nn.Linear", (prim(3), prim(2)), (), Then("__call__", (matrix,)))
clip = Invocation("jittor.safe_clip", (matrix, prim(0.0), prim(1.5)))
numerical = mode_of(adapter, "grad-numerical")
kinds = [Tensor(dtype, (2, 3)) for dtype in ("bool", "int8", "int64", "float64")] + [Tensor("float32", (0, 3))]
print(json.dumps({
    "planted": {
        "fused": look("fused", of("p_pending")),
        "cpu-fp64": look("cpu-fp64", of("p_overflows")),
        "grad-numerical": look("grad-numerical", of("p_gradient")),
    },
    "right": {
        **{f"{mode} {seed}": look(mode, of("sum"), seed)
            for mode, seed in (("fused", 1), ("fused", 2), ("cpu-fp64", 1), ("grad-numerical", 1))},
        "module": look("grad-numerical", linear),
        **{f"{each.dtype} {each.size}": look("fused", of("clone", each), 2) for each in kinds},
    },
    "silent": {
        "NaN": look("fused", of("exp", nan)),
        "infinity": look("fused", of("p_infinite")),
        "single": look("grad-numerical", of("p_single")),
        "random": look("grad-numerical", of("p_random")),
    },
    "applies": [numerical.applies(TestCase(call, 1)) for call in (of("exp"), linear, clip)],
}))
"""


def around(python: Path) -> dict[str, str]:
    folder = str(Path(fuzz_core.__file__).parents[1])
    return {**os.environ, **surroundings(dialect_of("jittor"), python), "PYTHONPATH": folder}


@pytest.fixture(scope="module")
def seen(jittor_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    done = subprocess.run(
        [jittor_python, "-c", PROGRAM],
        capture_output=True,
        text=True,
        env=around(jittor_python),
        cwd=tmp_path_factory.mktemp("jittor"),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.real
def test_each_sees_what_is_planted(seen: Any) -> None:
    kinds = {mode: verdict for mode, (*_, verdict) in seen["planted"].items()}
    assert kinds == {"fused": "wrong-result", "cpu-fp64": "nonfinite", "grad-numerical": "wrong-gradient"}, seen


@pytest.mark.real
def test_what_is_right_agrees(seen: Any) -> None:
    assert {name: outcome for name, outcome in seen["right"].items() if outcome != ["ok", "", "", "clean"]} == {}


@pytest.mark.real
def test_nothing_is_said_where_nothing_is_promised(seen: Any) -> None:
    reasons = {name: outcome[2] for name, outcome in seen["silent"].items() if outcome[0] == "skipped"}
    assert reasons.pop("single") in ("takes steps", "not smooth here")
    assert reasons == {
        "NaN": "NaN or infinity in an argument",
        "infinity": "NaN or infinity in the results",
        "random": "random",
    }


@pytest.mark.real
def test_a_gradient_that_is_documented_is_not_taken_for_the_functions_own(seen: Any) -> None:
    """The documentation of `safe_clip` says that it lets gradients pass."""
    assert seen["applies"] == [True, True, False]


@pytest.mark.parametrize("shape", [(1,), (2, 3), (0, 3), (2, 1, 4)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_identity_turns_shapes_back(shape: tuple[int, ...], seed: int) -> None:
    steps = identity(shape, seed)
    assert len(steps[0][1]) == len(shape) == len(steps[1][1])
    assert steps[1][0] == shape
    assert sorted(steps[0][0]) == sorted(shape)


MATRIX = Tensor("float32", (2, 3), Fill(low=1.0, high=2.0))
LINEAR = Invocation("jittor.nn.Linear", (prim(3), prim(2)), (), Then("__call__", (MATRIX,)))


def ended(python: Path, script: str) -> Outcome:
    """Returns the outcome of a script. A hanging script runs up to three times, as Jittor itself hangs at times."""
    outcomes = (run_script(str(python), script, dialect_of("jittor"), timeout=120.0) for _ in range(3))
    return next((outcome for outcome in outcomes if outcome.kind != "timeout"), Outcome("timeout", "each time"))


@pytest.mark.real
@pytest.mark.parametrize("call", [Invocation("jittor.sum", (MATRIX,)), LINEAR], ids=["sum", "linear"])
def test_scripts_of_what_is_right_end_well(jittor_python: Path, call: Invocation) -> None:
    for mode in dialect_of("jittor").ways:
        script = render_comparison(TestCase(call, 2), mode, dialect_of("jittor"), seeded=True)
        assert ended(jittor_python, script).kind == "ok", script
