"""PyTorch's own statements on arguments and pairs: its check of sparse tensors, and its documentation."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import fuzz_core

PROGRAM = """
import json, torch
from fuzz_core.adapters.pytorch.documentation import is_inplace_twin, wants_whole_numbers
from fuzz_core.adapters.pytorch.tensors import refusal

names = [name for name in dir(torch.Tensor) if name.endswith("_") and not name.startswith("_")]
names = [name for name in names if hasattr(torch, name[:-1]) or hasattr(torch.Tensor, name[:-1])]
rows, columns, values = torch.tensor([0, 1, 2]), torch.tensor([0, 9]), torch.ones(2)
eye = torch.eye(4)
made = {
    "index": torch.sparse_csr_tensor(rows, columns, values, (2, 2)),
    "rows": torch.sparse_csr_tensor(torch.tensor([0, 9, 2]), torch.tensor([0, 1]), values, (2, 2)),
    "block": torch.sparse_compressed_tensor(rows, columns, torch.ones(2, 1, 1), (2, 2), layout=torch.sparse_bsr),
    "coo": torch.sparse_coo_tensor((3, 4)), "sparse": eye.to_sparse(), "csr": eye.to_sparse_csr(),
    "csc": eye.to_sparse_csc(), "bsr": eye.to_sparse_bsr((2, 2)), "bsc": eye.to_sparse_bsc((2, 2)),
    "dense": eye, "mkldnn": eye.to_mkldnn(), "nested": torch.nested.nested_tensor([values], layout=torch.jagged),
    "meta": torch.sparse_coo_tensor((3, 4), device="meta"), "text": "text",
}
print(json.dumps({
    "twins": [name for name in names if is_inplace_twin(getattr(torch.Tensor, name))],
    "others": [name for name in names if not is_inplace_twin(getattr(torch.Tensor, name))],
    "refused": [name for name, value in made.items() if refusal(value)],
    "whole": [name for name in ("addmm", "addmv", "baddbmm", "lerp") if wants_whole_numbers(getattr(torch, name))],
}))
"""


@pytest.fixture(scope="module")
def said(torch_python: Path) -> dict[str, list[str]]:
    """Output of the program, from one process for all tests: importing the library takes seconds."""
    env = {"PYTHONPATH": str(Path(fuzz_core.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([torch_python, "-W", "ignore", "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.real
def test_methods_whose_documentation_differs_are_no_pair(said: dict[str, list[str]]) -> None:
    assert {"bernoulli_", "normal_", "detach_"} <= set(said["others"])
    # Methods described as a version of their twin, as its alias or by a reference to it; and methods without a text.
    assert {"add_", "clip_", "index_add_", "index_reduce_", "true_divide_", "relu_", "clamp_max_"} <= set(said["twins"])
    assert len(said["twins"]) > 10 * len(said["others"])


@pytest.mark.real
def test_sparse_tensors_are_checked_by_pytorch_s_own_check(said: dict[str, list[str]]) -> None:
    assert said["refused"] == ["index", "rows", "block"]


@pytest.mark.real
def test_products_of_integers_want_whole_numbers(said: dict[str, list[str]]) -> None:
    assert said["whole"] == ["addmm", "addmv", "baddbmm"]
