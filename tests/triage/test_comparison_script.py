"""Scripts that show what two modes disagree about."""

from __future__ import annotations

import subprocess

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, Then, Value, prim
from fuzz_core.triage.comparison import render_comparison

TORCH = dialect_of("torch")
ONES = Tensor("float32", (2, 3), Fill("constant", 1.0, 1.0))
LINEAR = Invocation("torch.nn.Linear", (prim(3), prim(2)), (), Then("__call__", (ONES,)))
MATMUL = Invocation("torch.matmul", (ONES, Tensor("float32", (3, 2), Fill("constant", 2.0, 2.0))))


def test_a_script_is_one_function_called_in_both_ways() -> None:
    script = render_comparison(TestCase(MATMUL, 3), "strided", TORCH, "the same", "another")
    assert script.splitlines() == [
        "import torch",
        "",
        "x = torch.ones(2, 3)",
        "y = torch.full((3, 2), 2.0)",
        "",
        "def f(x, y):",
        "    return torch.matmul(x, y)",
        "",
        "torch.testing.assert_close(f(x.mT.contiguous().mT, y.mT.contiguous().mT), f(x, y), equal_nan=True)",
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


def test_a_mode_without_a_text_is_refused() -> None:
    with pytest.raises(CodecError, match="mode upside-down"):
        render_comparison(TestCase(MATMUL, 3), "upside-down", TORCH)


@pytest.mark.real
@pytest.mark.parametrize("mode", ["strided", "cpu-fp64"])
@pytest.mark.parametrize("call", [MATMUL, LINEAR], ids=["function", "module"])
def test_what_agrees_asserts_nothing(mode: str, call: Invocation, torch_python: str) -> None:
    script = render_comparison(TestCase(call, 3), mode, TORCH, seeded=True)
    subprocess.run([torch_python, "-c", script], check=True, capture_output=True)


@pytest.mark.real
@pytest.mark.parametrize(
    ("mode", "arguments", "api"),
    [("strided", (ONES, prim(0)), "torch.Tensor.stride"), ("cpu-fp64", (ONES, prim(0)), "torch.divide")],
)
def test_what_disagrees_ends_with_an_assertion(
    mode: str, arguments: tuple[Value, ...], api: str, torch_python: str
) -> None:
    script = render_comparison(TestCase(Invocation(api, arguments), 3), mode, TORCH)
    done = subprocess.run([torch_python, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1 and "AssertionError" in done.stderr, done.stderr
