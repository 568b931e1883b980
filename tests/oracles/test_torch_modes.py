"""Tests of PyTorch's modes beyond devices: each mode finds its planted fault and reports no correct result."""

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
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.values import Fill, Invocation, Prim, Seq, Tensor, TestCase, Then, prim
from fuzz_core.oracles.crash import Crash
from fuzz_core.oracles.compare import Differential
from fuzz_core.worker.execution import Execution


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        [x] = ctx.saved_tensors
        return 3 * x * tangent

    @staticmethod
    def backward(ctx, grad):
        [x] = ctx.saved_tensors
        return 2 * x * grad


class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        [x] = ctx.saved_tensors
        return x * grad


class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, grad):
        [x] = ctx.saved_tensors
        return 3 * x.detach() * x * grad


class Asserting(Halved):
    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("false INTERNAL ASSERT FAILED, please report a bug to PyTorch")


def planted_out(x, out=None):
    return x + 1 if out is None else out.copy_(x)


@torch.library.custom_op("planted::refuses", mutates_args=())
def refuses_compiled(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@refuses_compiled.register_fake
def _(x):
    raise ValueError("not compiled")


def refuses_plain(x):
    if not torch.compiler.is_compiling():
        raise ValueError("only compiled")
    return x + 1


def peeks(x):
    behind = ctypes.c_float.from_address(x.data_ptr() + x.numel() * x.element_size())
    return x + behind.value


def off(when):
    return lambda x: x + 1 if when(x) else x + 2


torch.p_strided = lambda x: x.as_strided(x.shape, torch.empty(x.shape).stride()).clone()
torch.p_out = planted_out
torch.p_inplace = lambda x: x + 1
torch.Tensor.p_inplace_ = lambda x: x.add_(2)
torch.p_meta = lambda x: x.sum(0) if x.is_meta else x.sum(1)
torch.p_fake = lambda x: x.t() if type(x).__name__ == "FakeTensor" else x.t().contiguous()
torch.p_vmap = off(torch._C._functorch.is_batchedtensor)
torch.p_forward = lambda x: Wrong.apply(x)
torch.p_backward = lambda x: Halved.apply(x)
torch.p_asserts = lambda x: Asserting.apply(x)
torch.p_second = lambda x: Flat.apply(x)
torch.p_compile = off(lambda x: torch.compiler.is_compiling())
torch.p_refuses = lambda x: torch.ops.planted.refuses(x)
torch.p_accepts = refuses_plain
torch.p_onednn = off(lambda x: torch.backends.mkldnn.enabled)
torch.p_threads = off(lambda x: torch.get_num_threads() > 1)
torch.p_peeks = peeks
torch.p_raises = off(lambda x: 1 / 0)

for name, found in [*vars(torch).items(), *vars(torch.Tensor).items()]:
    if name.startswith("p_"):
        found.__doc__ = "Of what nothing is said, nothing is promised."

adapter = adapter_of("torch")
adapter.load()
adapter.prepare()
dialect = dialect_of("torch")
execution = Execution(adapter, dialect, [])


def look(mode, call, seed):
    test = TestCase(call, seed)
    outcome = execution._outcome(test, mode, {"cpu": execution.run(test, "cpu")})
    crash = Crash().judge({mode: outcome}, dialect)
    return outcome, (Differential().judge({mode: outcome}, dialect) if crash.clean else crash).kind


matrix, square = Tensor("float32", (3, 4), Fill(key=5)), Tensor("float32", (4, 4), Fill(key=9))
indices = Tensor("int64", (4,), Fill(high=9.0))
image, long = Tensor("float32", (2, 3, 8, 8), Fill(key=5)), Tensor("float32", (4096,), Fill(key=2))
numbers = lambda *values: Seq("list", tuple(map(prim, values)))
huge = Tensor("float32", (4, 4, 4), Fill(special=-3.4e38))
one, row = Tensor("float32", (4096,), Fill("constant", 1.0, 1.0)), Tensor("float32", (4,), Fill(key=3))
infinite = Tensor("float32", (4, 4), Fill("constant", float("inf"), float("inf")))
graded = Tensor("float32", (3, 4), Fill(key=5), requires_grad=True)
positive = Tensor("float32", (3, 4), Fill(low=1.0, high=2.0))
view = Tensor("float32", (3, 4), Fill(key=5), strides=(1, 5))
part = Invocation("torch.as_strided", (square, numbers(2, 2), numbers(5, 1), prim(1)))
scores = Tensor("float32", (5, 1, 3), Fill(low=-3.0, high=-0.1, key=5))
labels = Tensor("int64", (1, 2), Fill(low=1.0, high=2.0))
lengths = numbers(5), numbers(2)
clean = {
    "matmul": Invocation("torch.matmul", (matrix, square)),
    "add": Invocation("torch.add", (matrix, matrix), (("alpha", prim(2)),)),
    "gather": Invocation("torch.gather", (matrix, prim(1), Tensor("int64", (3, 2), Fill("constant", 2.0, 2.0)))),
    "max": Invocation("torch.max", (matrix, prim(1))),
    "relu": Invocation("torch.nn.functional.relu", (Tensor("float32", (5,), Fill("constant")),)),
    "linear": Invocation("torch.nn.Linear", (prim(4), prim(2)), (), Then("__call__", (matrix,))),
    "dropout": Invocation("torch.nn.functional.dropout", (matrix,)),
    "rand_like": Invocation("torch.rand_like", (matrix,)),
    "generator": Invocation("torch.Tensor.uniform_", (square,), (("generator", Invocation("torch.Generator")),)),
    "eigh": Invocation("torch.linalg.eigvalsh", (square,)),
    "scatter": Invocation("torch.scatter", (matrix, prim(1), Tensor("int64", (3, 4), Fill("constant")), matrix)),
    "initialiser": Invocation("torch.nn.init.ones_", (matrix,)),
    "undifferentiable": Invocation("torch.heaviside", (graded, matrix)),
    "wrapped": Invocation("torch.atan2", (Tensor("int32", (3,)), Tensor("int64", (), Fill("constant", 2.0**62)))),
    "overlapping": Invocation("torch.Tensor.triu_", (Tensor("bool", (3, 4), Fill(key=3), strides=(1, 0)),)),
    "stored": Invocation("torch.as_strided_copy", (matrix, Seq("tuple", (prim(2),)), Seq("tuple", (prim(1),)))),
    "internal": Invocation("torch.native_layer_norm", (matrix, Seq("list", (prim(4),)), *[prim(None)] * 2, prim(0.1))),
    "normal": Invocation("torch.normal", (matrix, prim(1.1))),
    "clamped": Invocation("torch.nn.GaussianNLLLoss", (), (("eps", prim(5.0)),), Then("__call__", (long, long, one))),
    "steps": Invocation("torch.round", (matrix,), (("decimals", prim(9)),)),
    "overflow": Invocation("torch.nn.BatchNorm1d", (prim(4),), (), Then("__call__", (huge,))),
    "zeroed": Invocation("torch.addmv", (row, infinite, row), (("alpha", prim(False)),)),
    "address": Invocation("torch.Tensor.data_ptr", (matrix,)),
    "empty_like": Invocation("torch.empty_like", (matrix,)),
    "conv": Invocation("torch.nn.Conv2d", (prim(3), prim(4), prim(3)), (), Then("__call__", (image,))),
    "embedding": Invocation("torch.nn.Embedding", (prim(9), prim(3)), (), Then("__call__", (indices,))),
    "sort": Invocation("torch.sort", (Tensor("float32", (6,), Fill("constant", 1.0, 1.0)),)),
    "round": Invocation("torch.round", (matrix,)),
    "sum": Invocation("torch.sum", (long,)),
    "eig": Invocation("torch.linalg.svd", (square,)),
    "cat": Invocation("torch.cat", (Seq("list", (matrix, matrix)),)),
    "refused": Invocation("torch.matmul", (matrix, matrix)),
    "raises": Invocation("torch.p_raises", (matrix,)),
    "sqrt": Invocation("torch.sqrt", (Tensor("float32", (3,), Fill("constant")),)),
    "item": Invocation("torch.is_nonzero", (Tensor("float32", (1,)),)),
    "set": Invocation("torch.Tensor.set_", (matrix, square)),
    "storage": Invocation("torch.Tensor.storage", (matrix,)),
    "untyped": Invocation("torch.Tensor.untyped_storage", (matrix,)),
    "offset": Invocation("torch.Tensor.storage_offset", (view,)),
    "resized": Invocation("torch.Tensor.resize_", (matrix, prim(30))),
    "view": Invocation("torch.matmul", (view, square)),
    "viewed": Invocation("torch.add", (part, prim(1))),
    "loss": Invocation("torch.nn.functional.ctc_loss", (scores, labels, *lengths)),
    "nothing": Invocation("torch.manual_seed", (prim(3),)),
}
planted = [
    ("strided", "strided", matrix), ("out", "out", matrix), ("inplace", "inplace", matrix), ("meta", "meta", matrix),
    ("fake", "fake", matrix), ("backward", "asserts", matrix), ("vmap", "vmap", matrix),
    ("grad-forward", "forward", positive),
    ("grad-numerical", "backward", positive), ("grad-second", "second", positive), ("compile", "compile", matrix),
    ("compile", "refuses", matrix), ("compile", "accepts", matrix), ("onednn-off", "onednn", matrix),
    ("threads", "threads", long), ("redzone", "peeks", matrix),
]
before = adapter.state(), torch.backends.mkldnn.enabled
found = {"planted": {}, "clean": {}, "ran": []}
for mode, name, tensor in planted:
    outcome, kind = look(mode, Invocation(f"torch.p_{name}", (tensor,)), 0)
    found["planted"][f"{mode} {name}"] = [kind, str(outcome)[:300]]
for mode in adapter.ways:
    for name, call in clean.items():
        for seed in range(10) if mode == "strided" else range(1):
            outcome, kind = look(mode, call, seed)
            found["clean"][f"{mode} {name} {seed}"] = [kind, str(outcome)[:300]]
            if outcome.kind == "ok":
                found["ran"].append(f"{mode} {name}")
found["restored"] = (adapter.state(), torch.backends.mkldnn.enabled) == before
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def seen(torch_python: Path) -> dict[str, Any]:
    """Returns the program's findings. The program runs once, because the import of the library takes seconds."""
    env = {"PYTHONPATH": str(Path(fuzz_core.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([torch_python, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


KINDS = {
    "backward": "internal-error",
    "meta": "wrong-metadata",
    "fake": "wrong-metadata",
    "grad-forward": "wrong-gradient",
    "grad-numerical": "wrong-gradient",
    "grad-second": "wrong-gradient",
    "redzone": "out-of-bounds",
}


@pytest.mark.real
def test_every_mode_sees_what_is_planted_for_it(seen: dict[str, Any]) -> None:
    for name, (kind, outcome) in seen["planted"].items():
        mode = name.split()[0]
        inconsistent = name in ("compile refuses", "compile accepts")
        assert kind == ("inconsistent" if inconsistent else KINDS.get(mode, "wrong-result")), f"{name}: {outcome}"


@pytest.mark.real
def test_no_mode_sees_anything_in_what_is_right(seen: dict[str, Any]) -> None:
    wrong = {name: outcome for name, (kind, outcome) in seen["clean"].items() if kind != "clean"}
    assert wrong == {}


@pytest.mark.real
def test_every_mode_executes_what_it_is_for(seen: dict[str, Any]) -> None:
    wanted = {
        "strided matmul", "out matmul", "out max", "inplace relu", "inplace add", "meta conv", "fake linear",
        "vmap matmul", "vmap linear", "vmap max", "grad-forward matmul", "grad-numerical conv", "grad-second matmul",
        "backward matmul", "backward conv", "backward max", "backward embedding",
        "compile conv", "onednn-off conv", "threads sum", "redzone conv", "redzone loss", "redzone viewed",
        "redzone set",
    }  # fmt: skip
    assert wanted <= set(seen["ran"])


@pytest.mark.real
def test_the_library_is_left_as_it_was(seen: dict[str, Any]) -> None:
    assert seen["restored"]


MOVED = """
import json
from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.modes import Device
from fuzz_core.ir.values import Invocation, Tensor, TestCase, Then, prim

adapter = adapter_of("torch")
adapter.load()
adapter.prepare()
adapter.enter = lambda mode: mode
adapter.synchronise = lambda mode: None
device = Device(adapter, "meta")
linear = Invocation("torch.nn.Linear", (prim(3), prim(4)))
rows = Tensor("float32", (2, 3))
calls = {
    "module": linear._replace(then=Then("__call__", (rows,))),
    "made module": Invocation("torch.nn.Sequential", (linear,), (), Then("__call__", (rows,))),
    "made tensor": Invocation("torch.add", (rows, Invocation("torch.ones", (prim(3),)))),
}
print(json.dumps({name: str(device.run(TestCase(call, 1)).device) for name, call in calls.items()}))
"""


@pytest.mark.real
def test_a_device_gets_the_modules_and_tensors_that_calls_make(torch_python: Path) -> None:
    env = {"PYTHONPATH": str(Path(fuzz_core.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([torch_python, "-c", MOVED], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {"module": "meta", "made module": "meta", "made tensor": "meta"}
