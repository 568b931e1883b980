"""Tests of the three modes of FreeFuzz on a real CUDA device, with any installed target that has a build for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakelib_plans import plan_of

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote, environment
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, Then, prim
from fuzz_core.triage.process import run_script
from fuzz_core.triage.script import render_comparison

IMAGE = Tensor("float32", (2, 3, 16, 16), Fill(key=5))
CALLS = {
    "conv": Invocation("torch.nn.Conv2d", (prim(3), prim(4), prim(3)), (), Then("__call__", (IMAGE,))),
    "matmul": Invocation("torch.matmul", (Tensor("float32", (32, 32)), Tensor("float32", (32, 32), Fill(key=9)))),
}
PROGRAM = """
import json
from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, Then, prim
from fuzz_core.worker.execution import Execution

adapter = adapter_of("torch")
adapter.load()
adapter.prepare()
execution = Execution(adapter, dialect_of("torch"), ["crash", "differential", "performance"])
for oracle in execution.oracles:
    oracle.share = 1.0
execution.modes = adapter.device_modes()
execution.oracles[1].share_of = lambda mode, dialect: 1.0
image = Tensor("float32", (2, 3, 16, 16), Fill(key=5))
conv = Invocation("torch.nn.Conv2d", (prim(3), prim(4), prim(3)), (), Then("__call__", (image,)))
calls = {
    "conv": conv,
    "matmul": Invocation("torch.matmul", (Tensor("float32", (32, 32)), Tensor("float32", (32, 32), Fill(key=9)))),
    "refused": Invocation("torch.matmul", (Tensor("float32", (2, 3)), Tensor("float32", (2, 3)))),
}
found = {"modes": list(execution.modes)}
for name, call in calls.items():
    test = TestCase(call, 3)
    runs = {mode: execution.run(test, mode) for mode in execution.modes}
    outcome, verdicts = execution.judge(test)
    devices = {m: str(r.device) for m, (_, r) in runs.items() if hasattr(r, "device")}
    kinds = {m: o.kind for m, (o, _) in runs.items()}
    found[name] = {"kinds": kinds, "devices": devices, "verdicts": [v.kind for v, _ in verdicts]}
import torch
found["cudnn"] = {}
for mode in execution.modes:
    adapter.enter(mode)
    found["cudnn"][mode] = torch.backends.cudnn.enabled
a = torch.ones(4)
found["differences"] = [adapter.differences(a, a.cuda()), bool(adapter.differences(a, a.cuda() + 1))]
found["timed"] = {p: execution._timed(TestCase(calls["matmul"], 1), f"cuda@{p}")[0].kind
                  for p in ("float16", "float32", "float64")}
print(json.dumps(found))
"""


def interpreter(request: pytest.FixtureRequest) -> str:
    """Returns this interpreter if its torch sees the device, else the target's interpreter."""
    probe = "import torch, sys; sys.exit(not torch.cuda.is_available())"
    if subprocess.run([sys.executable, "-c", probe], capture_output=True).returncode == 0:
        return sys.executable
    python = str(request.getfixturevalue("torch_python"))
    if subprocess.run([python, "-c", probe], capture_output=True).returncode:
        pytest.skip("no installed torch sees the CUDA device")
    return python


def said(program: str, python: str, home: Path) -> Any:
    """Return what a program prints last, as JSON; it has the environment of a worker."""
    done = subprocess.run([python, "-c", program], env=environment(home), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


BOUNDED = """
import json
from fuzz_core.adapters.base import GPU_MEMORY_BYTES, adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.values import Fill, Invocation, Ref, Tensor, TestCase, prim
from fuzz_core.worker.execution import Execution

adapter = adapter_of("torch")
adapter.load()
adapter.prepare()
execution = Execution(adapter, dialect_of("torch"), ["crash", "differential"])
for oracle in execution.oracles:
    oracle.share = 1.0
size = (prim(GPU_MEMORY_BYTES + 1),)
device = (("dtype", Ref("dtype", "int8")), ("device", Ref("device", "cpu")))
found = {"beyond": execution.run(TestCase(Invocation("torch.zeros", size, device), 1), "cuda")[0].kind}
table, index = Tensor("float32", (4, 2)), Tensor("int64", (1,), Fill("constant", 9.0, 9.0))
call = Invocation("torch.nn.functional.embedding", (index, table))
outcome = execution.run(TestCase(call, 1), "cuda")[0]
found["lost"] = [outcome.kind, execution.poisoned]
found["after"] = [execution._outcome(TestCase(call, 1), mode, {}).kind for mode in ("cuda", "cuda-nocudnn")]
print(json.dumps(found))
"""


@pytest.mark.gpu
@pytest.mark.real
def test_gpu_memory_is_bounded_and_nothing_is_judged_in_a_poisoned_process(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    found = said(BOUNDED, interpreter(request), tmp_path)
    assert found == {"beyond": "oom", "lost": ["exception", True], "after": ["skipped", "skipped"]}


@pytest.mark.gpu
@pytest.mark.real
def test_modes_on_a_cuda_device(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    found = said(PROGRAM, interpreter(request), tmp_path)
    assert found["modes"] == ["cpu", "cuda", "cuda-nocudnn"]
    assert (found["cudnn"]["cuda"], found["cudnn"]["cuda-nocudnn"]) == (True, False)
    for name in ("conv", "matmul"):
        assert set(found[name]["kinds"].values()) == {"ok"}, found[name]
        assert found[name]["verdicts"] == []
    assert found["matmul"]["devices"] == {"cpu": "cpu", "cuda": "cuda:0", "cuda-nocudnn": "cuda:0"}
    assert set(found["refused"]["kinds"].values()) == {"exception"}
    assert found["refused"]["verdicts"] == []
    assert found["differences"] == ["", True]
    assert set(found["timed"].values()) == {"ok"}


@pytest.mark.gpu
@pytest.mark.real
def test_worker_uses_the_device_within_its_limits(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    conv, matmul = CALLS["conv"], CALLS["matmul"]
    index = Tensor("int64", (1,), Fill("constant", 9.0, 9.0))
    lost = Invocation("torch.nn.functional.embedding", (index, Tensor("float32", (4, 2))))
    plan = plan_of(tmp_path / "plan", [conv], library="torch", oracles=("crash", "differential"))
    modes = ("cpu", "cuda", "cuda-nocudnn")
    with Zygote(interpreter(request), "torch", "fuzz", plan) as zygote:
        replayer = Replayer(zygote, timeout=60.0)
        for call in (conv, matmul):
            told = replayer.tell(TestCase(call, 3), modes)
            assert [run.outcome.kind for mode in modes for run in told[mode]] == ["ok"] * 3, told
            assert not replayer.run(TestCase(call, 3)).verdicts
        told = replayer.tell(TestCase(lost, 3), modes)
        assert {run.outcome.kind for mode in modes for run in told[mode]} == {"exception"}, told
        told = replayer.tell(TestCase(matmul, 3), modes, fresh=True)
        assert [run.outcome.kind for mode in modes for run in told[mode]] == ["ok"] * 3, told
        replayer.close()


@pytest.mark.gpu
@pytest.mark.real
@pytest.mark.parametrize("mode", ["cuda", "cuda-nocudnn"])
@pytest.mark.parametrize("name", ["conv", "matmul"])
def test_a_script_shows_what_the_mode_compares(name: str, mode: str, request: pytest.FixtureRequest) -> None:
    script = render_comparison(TestCase(CALLS[name], 3), mode, dialect_of("torch"), seeded=True)
    outcome = run_script(interpreter(request), script, dialect_of("torch"), timeout=120.0)
    assert outcome.kind == "ok", outcome
    other = script.replace("assert_close(actual,", "assert_close(actual + 1,")
    outcome = run_script(interpreter(request), other, dialect_of("torch"), timeout=120.0)
    assert (outcome.kind, outcome.name) == ("exception", "AssertionError"), outcome
