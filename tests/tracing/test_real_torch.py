"""Tests on the real PyTorch: described values are built again bit for bit, and traced calls run again."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import fuzz_core
from fuzz_core.campaign.carryover import validate
from fuzz_core.campaign.session import Session
from fuzz_core.execution.zygote import Job, Zygote, run_jobs
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import decode_invocation, dumps
from fuzz_core.ir.values import Invocation, Tensor
from fuzz_core.oracles.cost import tensors_of
from fuzz_core.store.records import SeedRecord, TargetRecord
from fuzz_core.store.statefile import open_store

pytestmark = pytest.mark.real

ROUND_TRIP = """
import random, sys
import torch
from fuzz_core.adapters.pytorch.adapter import TorchAdapter
from fuzz_core.ir.codec import dumps, loads

adapter = TorchAdapter()
adapter.load()
rng = random.Random(int(sys.argv[1]))
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16, torch.uint32,
          torch.uint64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64,
          torch.complex128, torch.complex32, torch.float8_e4m3fn, torch.float8_e5m2]
SPECIAL = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-42]

def base(dtype):
    shape = [rng.randint(0, 3) if rng.random() < 0.1 else rng.randint(1, 3) for _ in range(rng.randint(0, 3))]
    if dtype is torch.bool:
        return torch.rand(shape) < 0.5
    if dtype.is_floating_point or dtype.is_complex:
        made = torch.randn(shape, dtype=torch.complex128 if dtype.is_complex else torch.float64)
        if made.numel() and rng.random() < 0.5:
            made.view(-1)[rng.randrange(made.numel())] = rng.choice(SPECIAL)
        return made.to(dtype)
    bounds = torch.iinfo(dtype)
    numbers = [rng.choice([bounds.min, bounds.max, rng.randint(bounds.min, bounds.max)]) for _ in range(16)]
    made = torch.tensor(numbers, dtype=dtype)
    count = int(torch.Size(shape).numel())
    return torch.cat([made.view(torch.uint8)] * 8).view(dtype)[:count].reshape(shape)

VIEWS = {
    "plain": lambda t: t,
    "transposed": lambda t: t.transpose(0, -1) if t.dim() > 1 else t,
    "expanded": lambda t: t.unsqueeze(0).expand(2, *t.shape),
    "step": lambda t: t[::2] if t.dim() else t,
    "inner step": lambda t: t[..., ::2] if t.dim() else t,
    "narrow": lambda t: t[..., 1:] if t.dim() and t.shape[-1] > 1 else t,
    "permuted": lambda t: t.permute(tuple(reversed(range(t.dim())))),
    "overlapping": lambda t: t.reshape(-1).as_strided((2, 2), (1, 1)) if t.numel() > 2 else t,
    "conjugate": lambda t: t.conj() if t.dtype in (torch.complex64, torch.complex128) else t,
}

def bits(t):
    # The elements in row-major order, sign of zeros and kinds of NaN included.
    t = t.detach().resolve_conj().resolve_neg()
    return torch.empty(t.numel(), dtype=t.dtype).copy_(t.reshape(-1)).view(torch.uint8)

def same_numbers(a, b):
    if torch.equal(bits(a), bits(b)):
        return True
    wide = torch.complex128 if a.dtype.is_complex else torch.float64
    nan = a.detach().to(wide).isnan()
    return bool(nan.any()) and torch.equal(nan, b.detach().to(wide).isnan()) and torch.equal(
        a.detach().to(wide)[~nan], b.detach().to(wide)[~nan])

def again(t):
    return adapter.build(loads(dumps(adapter.describe(t, None))), "cpu")

cases = 0
for dtype in DTYPES:
    for name, view in VIEWS.items():
        for _ in range(12):
            try:
                t = view(base(dtype))
            except RuntimeError as error:
                assert "not implemented" in str(error), error
                continue
            if (dtype.is_floating_point or dtype.is_complex) and rng.random() < 0.3:
                t = torch.nn.Parameter(t, rng.random() < 0.5) if rng.random() < 0.5 else t.requires_grad_()
            made = again(t)
            label = (str(dtype), name, tuple(t.shape), t.stride())
            assert (made.dtype, made.shape, type(made)) == (t.dtype, t.shape, type(t)), label
            assert made.requires_grad == t.requires_grad, label
            assert t.numel() == 0 or t.is_contiguous() or made.stride() == t.stride(), (label, made.stride())
            assert made.is_contiguous() == t.is_contiguous(), label
            assert same_numbers(made, t), (label, made, t)
            cases += 1

for t in (torch.randn(50, 50), torch.arange(5000), torch.full((99,), 2.5), torch.full((70,), float("nan"))):
    made = again(t)
    assert (made.dtype, made.shape) == (t.dtype, t.shape)
    finite = t[~t.isnan()].double()
    if finite.numel():
        assert finite.min() <= made.double().min() and made.double().max() <= finite.max()
    else:
        assert made.isnan().all()
print(cases)
"""

SNIPPETS = {
    "torch.nn.Conv2d": "m = torch.nn.Conv2d(16, 33, (3, 5), stride=(2, 1), padding=(4, 2))\n"
    "m(torch.randn(2, 16, 20, 30))",
    "torch.nn.LSTM": "m = torch.nn.LSTM(10, 20, 2)\n"
    "m(torch.randn(5, 3, 10), (torch.randn(2, 3, 20), torch.randn(2, 3, 20)))",
    "torch.sparse.mm": "i = torch.tensor([[0, 1], [1, 0]])\ns = torch.sparse_coo_tensor(i, torch.ones(2), (2, 2))\n"
    "torch.sparse.mm(s, torch.randn(2, 3))\ntorch.sparse.mm(s.to_sparse_csr(), torch.ones(2, 1))",
    "torch.dequantize": "q = torch.quantize_per_tensor(torch.randn(3), 0.1, 10, torch.quint8)\ntorch.dequantize(q)",
    "torch.nested.to_padded_tensor": "n = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)])\n"
    "torch.nested.to_padded_tensor(n, 0.0)",
    "torch.distributions.Normal": "d = torch.distributions.Normal(torch.zeros(2), 1.0)\nd.log_prob(torch.ones(2))",
    "torch.optim.SGD": "w = torch.nn.Parameter(torch.ones(3))\no = torch.optim.SGD([w], lr=0.1, momentum=0.9)\n"
    "(w ** 2).sum().backward()\no.step()",
    "torch.nn.functional.relu": "torch.nn.functional.relu(torch.randn(3), inplace=True)",
    "torch.add": "torch.add(torch.ones(2, 3), torch.ones(3), alpha=2, out=torch.empty(2, 3))",
    "torch.Tensor.add_": "torch.randn(4, 3).t().add_(torch.ones(3, 4))",
    "torch.nn.Sequential": "torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU())(torch.randn(2, 4))",
    "torch.cat": "torch.cat([torch.ones(2), torch.zeros(3)], dim=0)",
    "torch.einsum": "torch.einsum('bij,bjk->bik', torch.randn(3, 2, 5), torch.randn(3, 5, 4))",
    "torch.nn.utils.rnn.pad_sequence": "torch.nn.utils.rnn.pad_sequence([torch.ones(2, 5), torch.ones(3, 5)], True)",
    # The first call of jvp compiles functions by TorchScript, which knows the library's own functions by their ids.
    "torch.where": "torch.func.jvp(torch.tanh, (torch.ones(2),), (torch.ones(2),))\n"
    "torch.where(torch.ones(2) > 0, torch.ones(2), torch.zeros(2))",
    "torch.zeros": "torch.zeros(2, 3, dtype=torch.bfloat16, device=torch.device('cpu'))",
}  # fmt: skip


@dataclass
class SeedCounts:
    checked: int = 0
    valid: int = 0


@pytest.mark.parametrize("seed", ["1", "2"])
def test_dense_tensors_are_built_again_bit_for_bit(torch_python: Path, seed: str) -> None:
    env = {"PYTHONPATH": str(Path(fuzz_core.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([torch_python, "-c", ROUND_TRIP, seed], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 1500


@pytest.fixture(scope="module")
def traced(torch_python: Path) -> dict[str, tuple[list[Invocation], dict[str, object]]]:
    """Returns the traced calls and the counts of each snippet."""
    found = {}
    with Zygote(str(torch_python), "torch", "trace") as zygote:
        jobs = [Job("seed", {"seed": {"kind": "snippet", "code": f"import torch\n{code}", "path": ""}}, 60.0, api)
                for api, code in SNIPPETS.items()]  # fmt: skip
        for result in run_jobs(zygote, jobs, 1, 4 << 30):
            assert result.complete, (result.job.tag, result.outcome)
            calls = [decode_invocation(message["call"]) for message in result.messages if "call" in message]
            found[result.job.tag] = (calls, result.messages[-1])
    return found


Traced = dict[str, tuple[list[Invocation], dict[str, object]]]


@pytest.mark.parametrize("api", SNIPPETS)
def test_snippets_run_and_bring_their_api(traced: Traced, api: str) -> None:
    calls, end = traced[api]
    assert (end["failed"], end["reason"], end["dropped"]) == (0, "", [])
    assert api in {call.api for call in calls}


def test_states_and_modules_are_recorded_where_they_stand(traced: Traced) -> None:
    lstm = next(call for call in traced["torch.nn.LSTM"][0] if call.then is not None)
    assert lstm.then is not None
    assert dumps(lstm.then.args[1]).startswith('["S","tuple",[["T"')
    whole = next(call for call in traced["torch.nn.Sequential"][0] if call.api == "torch.nn.Sequential" and call.then)
    assert [part.api for part in whole.args if isinstance(part, Invocation)] == ["torch.nn.Linear", "torch.nn.ReLU"]
    view = next(call for call in traced["torch.Tensor.add_"][0] if call.api == "torch.Tensor.add_").args[0]
    assert isinstance(view, Tensor)
    assert (view.shape, view.strides) == ((3, 4), (1, 3))
    assert any(call.kwargs and call.kwargs[-1][0] == "out" and tensors_of(call) for call in traced["torch.add"][0])


def test_all_that_was_traced_runs_again(traced: Traced, torch_python: Path, tmp_path: Path) -> None:
    target = TargetRecord("torch-2.13.0", "torch==2.13.0", "torch", "2.13.0", str(torch_python))
    with open_store(tmp_path / "state.db") as store:
        store.save_target(target)
        calls = [call for found, _ in traced.values() for call in found]
        store.save_apis(target.key, [Api(name, "function") for name in sorted({call.api for call in calls})])
        brought = [(call, "ok") for call in calls]
        store.save_trace(target.key, SeedRecord("d", "docs", "snippets", "ok"), brought, {}, {})
        counted = SeedCounts()
        validate(Session(store, target, tmp_path, workers=1), counted)
        failed = [(row.api, row.reason) for row in store.invocations(target.key) if not row.valid]
    assert failed == []
    assert counted.checked == counted.valid >= len(SNIPPETS)
