"""Tests of TensorFlow's modes beyond devices: each mode finds its planted fault and reports no correct result."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fuzz_core
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, Then, prim
from fuzz_core.triage.script import RAISED, render_comparison

PROGRAM = """
import gc
import json
import sys
from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.values import Fill, Invocation, Prim, Ref, Seq, Tensor, TestCase, Then, prim
from fuzz_core.oracles.compare import Differential
from fuzz_core.oracles.compare import Nonfinite
from fuzz_core.worker.execution import Execution

adapter = adapter_of("tensorflow")
tf = adapter.load()
adapter.prepare()


def off(when):
    return lambda x: x + 1 if when(x) else x + 2


@tf.custom_gradient
def halved(x):
    return x * x, lambda grad: x * grad


def refusing(when):
    def planted(x):
        if when():
            raise ValueError("the shape is wrong")
        return x + 1
    return planted


tf.p_function = off(lambda x: tf.executing_eagerly())
tf.p_gradient = lambda x: halved(x)
tf.p_accepts = refusing(tf.executing_eagerly)
tf.p_refuses = refusing(lambda: not tf.executing_eagerly())
tf.p_overflows = lambda x: tf.exp(x * 0 + 100) / tf.exp(x * 0 + 100)
tf.p_raises = off(lambda x: 1 / 0)

dialect = dialect_of("tensorflow")
execution = Execution(adapter, dialect, [])


def look(mode, call, seed):
    test = TestCase(call, seed)
    outcome = execution._outcome(test, mode, {"cpu": execution.run(test, "cpu")})
    oracle = Nonfinite() if mode == "cpu-fp64" else Differential()
    return outcome, oracle.judge({mode: outcome}, dialect).kind


matrix, square = Tensor("float32", (3, 4), Fill(key=5)), Tensor("float32", (4, 4), Fill(key=9))
image, long = Tensor("float32", (2, 8, 8, 3), Fill(key=5)), Tensor("float32", (4096,), Fill(key=2))
positive = Tensor("float32", (3, 4), Fill(low=1.0, high=2.0))
half = Tensor("float16", (3, 4), Fill(key=5))
floats = Seq("list", (prim(0.1), prim(0.7)))
keras = lambda name, *args, x=matrix, **kw: Invocation(
    f"tf.keras.layers.{name}", args, tuple((k, v) for k, v in kw.items()), Then("__call__", (x,)))
clean = {
    "matmul": Invocation("tf.linalg.matmul", (matrix, square)),
    "add": Invocation("tf.math.add", (matrix, matrix)),
    "lists": Invocation("tf.math.add", (floats, floats)),
    "gather": Invocation("tf.gather", (matrix, Tensor("int32", (3,), Fill("constant", 2.0, 2.0)))),
    "top_k": Invocation("tf.math.top_k", (Tensor("float32", (6,), Fill("constant", 1.0, 1.0)), prim(2))),
    "relu": Invocation("tf.nn.relu", (Tensor("float32", (5,), Fill("constant")),)),
    "dense": keras("Dense", prim(2)),
    "half dense": keras("Dense", prim(2), dtype=prim("float16"), x=half),
    "lstm": keras("LSTM", prim(2), x=Tensor("float32", (2, 3, 4), Fill(key=1))),
    "batchnorm": Invocation("tf.keras.layers.BatchNormalization", (), (),
        Then("__call__", (matrix,), (("training", prim(True)),))),
    "dropout": Invocation("tf.nn.dropout", (matrix, prim(0.5))),
    "dropout layer": Invocation("tf.keras.layers.Dropout", (prim(0.5),), (),
        Then("__call__", (matrix,), (("training", prim(True)),))),
    "one dropout": Invocation("tf.nn.dropout", (Tensor("float32", (1,)), prim(0.5))),
    "uniform": Invocation("tf.random.uniform", (Tensor("int32", (1,), Fill("constant", 3.0, 3.0)),)),
    "stateless": Invocation("tf.random.stateless_normal", (Tensor("int32", (1,), Fill("constant", 3.0, 3.0)),
        Seq("list", (prim(1), prim(2))))),
    "shuffle": Invocation("tf.random.shuffle", (matrix,)),
    "conv": keras("Conv2D", prim(4), prim(3), x=image),
    "conv2d": Invocation("tf.nn.conv2d", (image, Tensor("float32", (3, 3, 3, 2)), prim(1), prim("SAME"))),
    "embedding": keras("Embedding", prim(9), prim(3), x=Tensor("int32", (4,), Fill(high=9.0))),
    "sort": Invocation("tf.sort", (Tensor("float32", (6,), Fill("constant", 1.0, 1.0)),)),
    "round": Invocation("tf.math.round", (matrix,)),
    "sum": Invocation("tf.math.reduce_sum", (long,)),
    "softmax": Invocation("tf.nn.softmax", (half,)),
    "svd": Invocation("tf.linalg.svd", (square,)),
    "concat": Invocation("tf.concat", (Seq("list", (matrix, matrix)), prim(0))),
    "refused": Invocation("tf.linalg.matmul", (matrix, matrix)),
    "raises": Invocation("tf.p_raises", (matrix,)),
    "sqrt": Invocation("tf.math.sqrt", (Tensor("float32", (3,), Fill("constant")),)),
    "cast": Invocation("tf.cast", (matrix, Ref("dtype", "float16"))),
    "ragged": Invocation("tf.RaggedTensor.from_row_splits", (matrix, Tensor("int64", (2,), Fill("values",
        data=b"\\x00" * 8 + b"\\x03" + b"\\x00" * 7)))),
    "sparse": Invocation("tf.sparse.from_dense", (matrix,)),
    "strings": Invocation("tf.strings.as_string", (matrix,)),
    "where": Invocation("tf.where", (Tensor("bool", (3,), Fill("constant", 1.0, 1.0)),)),
    "unique": Invocation("tf.unique", (Tensor("int32", (5,), Fill(high=3.0)),)),
    "variable": Invocation("tf.math.square", (matrix._replace(container="variable"),)),
    "array": Invocation("tf.math.square", (matrix._replace(container="ndarray"),)),
    "size": Invocation("tf.size", (matrix,)),
    "numpy": Invocation("tf.make_ndarray", (Invocation("tf.make_tensor_proto", (matrix,)),)),
    "nothing": Invocation("tf.random.set_seed", (prim(3),)),
}
planted = [
    ("function", "function", matrix), ("function", "accepts", matrix), ("function", "refuses", matrix),
    ("xla", "function", matrix), ("grad-numerical", "gradient", positive), ("cpu-fp64", "overflows", half),
]
before = adapter.state()
found = {"planted": {}, "clean": {}, "ran": [], "outcomes": {}}
for mode, name, tensor in planted:
    outcome, kind = look(mode, Invocation(f"tf.p_{name}", (tensor,)), 0)
    found["planted"][f"{mode} {name}"] = [kind, str(outcome)[:300]]
for mode in adapter.ways:
    for name, call in clean.items():
        outcome, kind = look(mode, call, 3)
        found["clean"][f"{mode} {name}"] = [kind, str(outcome)[:300]]
        if outcome.kind == "ok":
            found["ran"].append(f"{mode} {name}")
    found.setdefault("restored", True)
    found["restored"] = found["restored"] and adapter.state() == before
resident = lambda: int(open("/proc/self/statm").read().split()[1]) >> 8
one = TestCase(clean["matmul"], 1)
held = []
for _ in range(3):
    for _ in range(40):
        execution.run(one, "function")
    gc.collect()
    held.append(resident())
found["held"] = held
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def seen(tensorflow_python: Path) -> dict[str, Any]:
    """Returns the program's findings. The program runs once, because the import of the library takes seconds."""
    env = {"PYTHONPATH": str(Path(fuzz_core.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([tensorflow_python, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


KINDS = {
    "function accepts": "inconsistent",
    "function refuses": "inconsistent",
    "grad-numerical gradient": "wrong-gradient",
    "cpu-fp64 overflows": "nonfinite",
}


@pytest.mark.real
def test_every_mode_sees_what_is_planted_for_it(seen: dict[str, Any]) -> None:
    for name, (kind, outcome) in seen["planted"].items():
        assert kind == KINDS.get(name, "wrong-result"), f"{name}: {outcome}"


@pytest.mark.real
def test_no_mode_sees_anything_in_what_is_right(seen: dict[str, Any]) -> None:
    wrong = {name: outcome for name, (kind, outcome) in seen["clean"].items() if kind != "clean"}
    assert wrong == {}


@pytest.mark.real
def test_every_mode_executes_what_it_is_for(seen: dict[str, Any]) -> None:
    wanted = {
        "cpu-fp64 dense", "cpu-fp64 half dense", "cpu-fp64 lists", "cpu-fp64-nudged softmax", "function dense",
        "function lstm", "function ragged", "function stateless", "xla conv", "xla sum", "xla batchnorm",
        "backward matmul", "backward conv", "backward embedding",
        "grad matmul", "grad-numerical conv2d", "grad-numerical softmax",
    }  # fmt: skip
    assert wanted <= set(seen["ran"])


@pytest.mark.real
@pytest.mark.parametrize("name", ["dropout", "one dropout", "uniform", "shuffle"])
def test_graphs_draw_random_numbers_of_their_own(seen: dict[str, Any], name: str) -> None:
    assert {f"function {name}", f"xla {name}"}.isdisjoint(seen["ran"])


@pytest.mark.real
def test_the_library_is_left_as_it_was(seen: dict[str, Any]) -> None:
    assert seen["restored"]


@pytest.mark.real
def test_graphs_are_forgotten(seen: dict[str, Any]) -> None:
    """`held` has the mebibytes of the process after forty graphs, eighty and so on."""
    assert seen["held"][-1] - seen["held"][0] < 8


SCRIPTS = """
import sys, json
import tensorflow as tf
tf.planted = lambda x: x + 1 if tf.executing_eagerly() else x + 2
tf.refusing = lambda x: x if tf.executing_eagerly() else tf.raise_an_error
results = {}
for name, script in json.load(sys.stdin).items():
    try:
        exec(compile(script, name, "exec"), {})
        results[name] = ""
    except Exception as error:
        results[name] = f"{type(error).__name__}: {error}"
print(json.dumps(results))
"""
MATRIX, WHOLE = Tensor("float32", (3, 4), Fill(key=5)), Tensor("int32", (1,), Fill("constant", 1.0, 1.0))
DENSE = Invocation("tf.keras.layers.Dense", (prim(2),), (), Then("__call__", (MATRIX,)))
CALLS = {
    "softmax": Invocation("tf.nn.softmax", (MATRIX,)),
    "dense": DENSE,
    "sparse": Invocation("tf.sparse.from_dense", (MATRIX,)),
    "boolean": Invocation("tf.math.less", (MATRIX, MATRIX)),
    "strings": Invocation("tf.strings.as_string", (WHOLE,)),
    "whole": Invocation("tf.gather", (MATRIX, WHOLE)),
}
# Modes that a call does not have.
LACKING = {"strings xla", *(f"{name} grad-numerical" for name in ("dense", "boolean", "strings", "sparse"))}


@pytest.fixture(scope="module")
def said(tensorflow_python: Path) -> dict[str, str]:
    """Returns the error that each script raised; all scripts run in one process."""
    dialect = dialect_of("tensorflow")
    scripts = {
        f"{name} {mode}": render_comparison(TestCase(call, 3), mode, dialect, seeded=True)
        for mode in dialect.ways
        for name, call in CALLS.items()
        if f"{name} {mode}" not in LACKING
    }
    planted = Invocation("tf.planted", (MATRIX,))
    scripts["wrong function"] = render_comparison(TestCase(planted, 3), "function", dialect)
    scripts["wrong xla"] = render_comparison(TestCase(planted, 3), "xla", dialect)
    refusing = TestCase(Invocation("tf.refusing", (MATRIX,)), 3)
    scripts["wrong refusal"] = render_comparison(refusing, "function", dialect, check=RAISED)
    lost = Invocation("tf.math.divide", (MATRIX, Tensor("float32", (3, 4), Fill("constant"))))
    scripts["wrong cpu-fp64"] = render_comparison(TestCase(lost, 3), "cpu-fp64", dialect)
    done = subprocess.run([tensorflow_python, "-c", SCRIPTS], input=json.dumps(scripts), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.real
def test_scripts_assert_nothing_of_what_agrees(said: dict[str, str]) -> None:
    assert {name: text for name, text in said.items() if text and not name.startswith("wrong")} == {}


@pytest.mark.real
def test_scripts_end_with_an_assertion_where_modes_disagree(said: dict[str, str]) -> None:
    wrong = {name: text for name, text in said.items() if name.startswith("wrong")}
    assert len(wrong) == 4
    assert all(text.startswith("AssertionError") for text in wrong.values()), wrong


def test_an_object_with_state_is_made_once_for_both_calls() -> None:
    lines = render_comparison(TestCase(DENSE, 3), "function", dialect_of("tensorflow")).splitlines()
    assert lines.index("m = tf.keras.layers.Dense(2)") < lines.index("def f(x):")
    assert "    return m(x)" in lines
