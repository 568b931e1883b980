"""The adapter on PyTorch 2.0, whose private modules differ: the adapter must work with old and new ones."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from fuzz_core.targets.record import list_targets

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
import json

from fuzz_core.adapters.pytorch.adapter import TorchAdapter
from fuzz_core.adapters.pytorch import models, modes, tensors

adapter = TorchAdapter()
torch = adapter.load()
adapter.prepare()
before = adapter.state()
with torch.autocast("cpu", dtype=torch.bfloat16):
    inside = adapter.state()
programs = dict(adapter.seed_programs())
exec(programs["OpInfo clamp"], {})
leaves = tensors.COMPARER.leaves({"a": [torch.ones(2), 3], "b": torch.zeros(1)})
kept = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
sparse = torch.eye(2).to_sparse()
wrong = torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([0, 9]), torch.ones(2), (2, 2))
found = {"version": torch.__version__, "told": inside != before, "programs": len(programs), "tensors": len(kept)}
found["refused"] = [bool(tensors.refusal(each)) for each in (sparse, sparse + sparse, wrong)]
print(json.dumps(found))
"""


@pytest.fixture(scope="session")
def old_torch_python() -> Path:
    """An interpreter with PyTorch 2.0.0. The test does not download a second PyTorch."""
    found = [each.python for each in list_targets() if each.library == "torch" and each.version.startswith("2.0.0")]
    if not found:
        pytest.skip("no PyTorch 2.0.0 here: `nightfuzz pull torch==2.0.0`")
    return Path(found[0])


@pytest.mark.parametrize(("python", "version"), [("old_torch_python", "2.0"), ("torch_python", "2.13")])
def test_the_adapter_knows_both(python: str, version: str, request: pytest.FixtureRequest) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    interpreter = request.getfixturevalue(python)
    done = subprocess.run([interpreter, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["version"].startswith(version) and told["told"]
    assert told["programs"] > 500 and told["tensors"] == 2
    assert told["refused"] == [False, False, True]
