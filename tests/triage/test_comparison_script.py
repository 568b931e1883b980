"""Tests of scripts that show the difference between two modes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, Then, prim
from fuzz_core.triage.script import CALL, RAISED, render_comparison
from nightfuzz.reports.contradiction import ValuePair, values_in

TORCH = dialect_of("torch")
ONES = Tensor("float32", (2, 3), Fill("constant", 1.0, 1.0))
RELU = Invocation("torch.nn.functional.relu", (ONES,))
# Modes that a call may lack, and a call that has the mode.
APPLIES = {"out": "function", "inplace": "relu"}
LINEAR = Invocation("torch.nn.Linear", (prim(3), prim(2)), (), Then("__call__", (ONES,)))
MATMUL = Invocation("torch.matmul", (ONES, Tensor("float32", (3, 2), Fill("constant", 2.0, 2.0))))


def test_a_script_is_one_function_called_in_both_ways() -> None:
    script = render_comparison(TestCase(MATMUL, 8), "strided", TORCH, "the same", "another")
    assert script.splitlines() == [
        "import torch",
        "",
        "x = torch.ones(2, 3)",
        "y = torch.full((3, 2), 2.0)",
        "",
        "def f(x, y):",
        "    return torch.matmul(x, y)",
        "",
        "actual = f(x.mT.contiguous().mT, y.mT.contiguous().mT)",
        "expected = f(x, y)",
        'print(told := f"expected {expected}, got {actual}")',
        'torch.testing.assert_close(actual, expected, equal_nan=True, msg=lambda m: m + "\\n" + told)',
        "# expected: the same",
        "# observed: another",
    ]


def test_an_object_with_state_is_made_inside_with_the_streams_seeded() -> None:
    body = render_comparison(TestCase(LINEAR, 3), "cpu-fp64", TORCH, seeded=True).splitlines()
    assert body[4:8] == [
        "def f(x):",
        "    torch.manual_seed(3)",
        "    m = torch.nn.Linear(3, 2).to(x.dtype)",
        "    return m(x)",
    ]


def test_elements_that_a_script_draws_are_the_same_in_each_run() -> None:
    drawn = Invocation("torch.nn.functional.relu", (Tensor("int64", (302,), Fill("uniform", 0.0, 64.0, 7)),))
    lines = render_comparison(TestCase(drawn, 3), "vmap", TORCH, seeded=True).splitlines()
    assert lines[2:4] == ["torch.manual_seed(3)", "x = torch.randint(65, (302,))"]


def test_a_mode_without_a_text_is_refused() -> None:
    with pytest.raises(CodecError, match="mode upside-down"):
        render_comparison(TestCase(MATMUL, 3), "upside-down", TORCH)


SCRIPTS = """
import sys, json, traceback
import torch
results = {}
for name, script in json.load(sys.stdin).items():
    try:
        exec(compile(script, name, "exec"), {})
        results[name] = ""
    except Exception as error:
        results[name] = type(error).__name__ + ": " + str(error) + "\\n\\f" + traceback.format_exc()[-400:]
print(json.dumps(results))
"""


def ran(python: Path, scripts: dict[str, str]) -> dict[str, str]:
    """Returns the error that each script raised. All scripts run in one process, to import the library once."""
    done = subprocess.run([python, "-c", SCRIPTS], input=json.dumps(scripts), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.real
def test_what_agrees_asserts_nothing(torch_python: Path) -> None:
    plain = [mode for mode in TORCH.ways if not mode.startswith("cuda")]
    calls = {"function": MATMUL, "module": LINEAR, "relu": RELU}
    scripts = {
        f"{mode} {name} {check}": render_comparison(TestCase(call, 3), mode, TORCH, seeded=True, check=check)
        for mode in plain
        for name, call in calls.items()
        for check in (None, CALL)
        if APPLIES.get(mode, name) == name
    }
    wrong = {name: f"{said}\n{scripts[name]}" for name, said in ran(torch_python, scripts).items() if said}
    assert wrong == {}


STRIDE = Invocation("torch.Tensor.stride", (ONES, prim(0)))
BY_ZERO = Invocation("torch.divide", (ONES, prim(0)))


@pytest.mark.real
def test_what_disagrees_ends_with_an_assertion(torch_python: Path) -> None:
    refusing = Invocation("torch.Tensor.numpy", (ONES,))
    scripts = {
        "strided": render_comparison(TestCase(STRIDE, 0), "strided", TORCH),
        "cpu-fp64": render_comparison(TestCase(BY_ZERO, 3), "cpu-fp64", TORCH),
        "refused": render_comparison(TestCase(refusing, 3), "meta", TORCH, check=RAISED),
    }
    said = ran(torch_python, scripts)
    assert all(text.startswith("AssertionError: ") for text in said.values()), said
    texts = {name: text.partition("\n\f")[0].partition(": ")[2] for name, text in said.items()}
    named = {name: values_in(text) for name, text in texts.items()}
    assert named["strided"] == ValuePair("1", "3")
    assert named["cpu-fp64"] == ValuePair("inf", "inf"), "the numbers themselves are equal"
    assert named["refused"].expected == "a result"


CUBE = """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x**3

    @staticmethod
    def backward(ctx, slope):
        return 64 * slope
"""


@pytest.mark.real
def test_a_wrong_gradient_is_told_beside_the_difference_quotient(torch_python: Path) -> None:
    plain = render_comparison(TestCase(Invocation("torch.sin", (ONES,)), 3), "grad-numerical", TORCH)
    script = plain.replace("import torch\n", f"import torch\n{CUBE}", 1).replace("torch.sin", "Cube.apply")
    said = ran(torch_python, {"cube": script})["cube"]
    assert values_in(said.partition("\n\f")[0]) == ValuePair("64", "3")


@pytest.mark.parametrize("mode", [mode for mode in TORCH.ways if mode != "backward"])
@pytest.mark.parametrize("library", ["torch", "tensorflow", "jittor"])
def test_every_script_is_ascii_and_its_assertion_names_what_was_expected(library: str, mode: str) -> None:
    dialect, x = dialect_of(library), Tensor("float32", (2, 3))
    if mode not in dialect.ways:
        pytest.skip(f"{library} has no mode {mode}")
    call = Invocation(f"{dialect.imports[0].split()[-1]}.relu", (x,), (("name", prim("\N{GREEK SMALL LETTER ALPHA}")),))
    script = render_comparison(TestCase(call, 3), mode, dialect, "as it is", "an \N{EN DASH} and so on…")
    assert script.isascii()
    assert "told" in script or "{error}" in script
    compile(script, "repro.py", "exec")
