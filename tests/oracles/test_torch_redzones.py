"""Tests of calls of PyTorch that read foreign memory: a finding about memory, and no wrong result."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import fuzz_core

PROGRAM = """
import ctypes
import json
import torch
from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import REDZONE, dialect_of
from fuzz_core.ir.values import Fill, Invocation, Seq, Tensor, TestCase, Then, prim
from fuzz_core.oracles.compare import Differential
from fuzz_core.triage.script import render_comparison
from fuzz_core.worker.execution import Execution


def peeks(x):
    behind = ctypes.c_float.from_address(x.data_ptr() + x.numel() * x.element_size())
    return x + behind.value


def ignores(x):
    return x.as_strided(x.shape, torch.empty(x.shape).stride()).clone()


def wrong(x):
    return x + 1 if x.is_contiguous() else x + 2


def draws(x):
    return x + torch.rand(()) + x.stride()[0]


torch.p_peeks, torch.p_ignores, torch.p_wrong, torch.p_draws = peeks, ignores, wrong, draws
for each in (peeks, ignores, wrong, draws):
    each.__doc__ = "Of what nothing is said, nothing is promised."

adapter = adapter_of("torch")
adapter.load()
adapter.prepare()
dialect = dialect_of("torch")
execution = Execution(adapter, dialect, ["differential", "nonfinite"])
# Others write where they read, or have no memory at all.
execution.modes = ("cpu", "strided", "cpu-fp64", REDZONE)
numbers = lambda *values: Seq("list", tuple(map(prim, values)))
matrix, square = Tensor("float32", (3, 4), Fill(key=5)), Tensor("float32", (4, 4), Fill(key=9))
scores = Tensor("float32", (5, 1, 3), Fill(low=-3.0, high=-0.1, key=5))
lengths = numbers(5), numbers(2)
right = Tensor("int64", (1, 2), Fill(low=1.0, high=2.0))
# Far enough beyond to meet other memory in each mode: a few zeros behind a tensor are the same in all of them.
beyond = Tensor("int64", (1, 2), Fill(low=5.0, high=64.0))
part = Invocation("torch.as_strided", (square, numbers(2, 2), numbers(5, 1), prim(1)))
calls = {
    "peeks": Invocation("torch.p_peeks", (matrix,)),
    "ignores": Invocation("torch.p_ignores", (matrix,)),
    "ctc_loss": Invocation("torch.nn.functional.ctc_loss", (scores, beyond, *lengths)),
    "CTCLoss": Invocation("torch.nn.CTCLoss", (), (), Then("__call__", (scores, beyond, *lengths))),
    "wrong": Invocation("torch.p_wrong", (matrix,)),
    "draws": Invocation("torch.p_draws", (matrix,)),
    "right": Invocation("torch.nn.functional.ctc_loss", (scores, right, *lengths)),
    "as_strided": Invocation("torch.as_strided", (matrix, numbers(2, 2), numbers(5, 1), prim(1))),
    "viewed": Invocation("torch.add", (part, prim(1))),
    "set": Invocation("torch.Tensor.set_", (matrix, square)),
    "untyped": Invocation("torch.Tensor.untyped_storage", (matrix,)),
    "address": Invocation("torch.Tensor.data_ptr", (matrix,)),
    "uninitialised": Invocation("torch.empty_like", (matrix,)),
    "resized": Invocation("torch.Tensor.resize_", (matrix, numbers(40))),
}
planned = Differential().plan
found = {"drawn": {}, "asked": {}, "scripts": {}}
for name, call in calls.items():
    tests = [TestCase(call, seed) for seed in range(60)]
    # What another mode shows has the redzones asked for, whatever their share.
    free = [test for test in tests if not REDZONE in planned(test, execution.modes, dialect)]
    for key, chosen, redzone in (("drawn", free, False), ("asked", tests[:3], True)):
        judged = [verdict for test in chosen for verdict, _ in execution.judge(test, redzone)[1]]
        found[key][name] = sorted({f"{verdict.kind} {verdict.mode}" for verdict in judged})
        for verdict in judged:
            found["scripts"][name] = render_comparison(tests[0], verdict.mode, dialect)
print(json.dumps(found))
"""
READ = "out-of-bounds redzone"


@pytest.fixture(scope="module")
def seen(torch_python: Path) -> dict[str, Any]:
    """Returns the program's findings. The program runs once, because the import of the library takes seconds."""
    env = {"PYTHONPATH": str(Path(fuzz_core.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([torch_python, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.real
@pytest.mark.parametrize("name", ["ctc_loss", "CTCLoss"])
def test_what_modes_differ_in_is_foreign_memory_and_no_wrong_result(seen: dict[str, Any], name: str) -> None:
    # The labels are beyond the classes.
    assert seen["drawn"][name] == [READ]


@pytest.mark.real
@pytest.mark.parametrize("name", ["peeks", "ctc_loss", "CTCLoss"])
def test_a_read_is_seen_where_the_redzones_are_asked_for(seen: dict[str, Any], name: str) -> None:
    assert seen["asked"][name] == [READ]


@pytest.mark.real
@pytest.mark.parametrize("name", ["wrong", "ignores"])
def test_a_wrong_result_stays_one(seen: dict[str, Any], name: str) -> None:
    # A kernel that takes every argument for contiguous reads other elements of its own memory: a wrong result.
    assert seen["drawn"][name] == ["wrong-result strided"]


@pytest.mark.real
@pytest.mark.parametrize(
    "name",
    ["right", "as_strided", "viewed", "set", "untyped", "address", "uninitialised", "resized", "draws"],
)
def test_a_call_that_keeps_to_its_memory_is_no_finding(seen: dict[str, Any], name: str) -> None:
    assert [text for key in ("drawn", "asked") for text in seen[key][name] if "out-of-bounds" in text] == []


@pytest.mark.real
def test_the_script_shows_both_results(seen: dict[str, Any], torch_python: Path) -> None:
    script = seen["scripts"]["ctc_loss"]
    done = subprocess.run([torch_python, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    [said] = done.stdout.splitlines()
    assert said.startswith("expected ") and ", got " in said
    assert said in done.stderr and "AssertionError" in done.stderr
    assert max(len(line) for line in script.splitlines() if "torch.tensor" not in line) <= 120
