"""PyTorch's rules for two results, on the real library."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fuzz_core
from fuzz_core.adapters.arrays import overlaps, row_major
from fuzz_core.ir.values import Tensor

PROGRAM = """
import json
import torch
from fuzz_core.adapters.pytorch.tensors import COMPARER, describe_tensor
from fuzz_core.ir.errors import Undescribable

differences, error = COMPARER.differences, COMPARER.error

a, nan, inf = torch.arange(6.0).reshape(2, 3), torch.tensor([torch.nan]), torch.tensor([torch.inf])
off = a + 1
pairs = {
    "equal": (a, a.clone(), "values"),
    "nan": (nan, nan.clone(), "values"),
    "rounding": (a, a * (1 + 1e-7), "values"),
    "layout": (a, a.mT.contiguous().mT, "values"),
    "no tensors": (3, 3, "behaviour"),
    "not comparable": (object(), object(), "values"),
    "tensor and text": (a, "a", "values"),
    "object within": ((a, object()), (off, object()), "values"),
    "object and tensor within": ((a, object()), (a, a), "values"),
    "tuple and list": ((a, a), [a, a], "values"),
    "named and plain tuple": (a.max(0), tuple(a.max(0)), "values"),
    "other keys": ({"a": a}, {"b": a}, "values"),
    "other length": ((a, a), (a,), "values"),
    "other length of shapes": ((a, a), (a,), "shape"),
    "off": (a, off, "values"),
    "one of two": ((a, a), (a, off), "behaviour"),
    "dtype": (a, a.double(), "values"),
    "shape": (a, a[:1], "values"),
    "meta": (a, a.to("meta"), "shape"),
    "meta dtype": (a, a.double().to("meta"), "shape"),
    "strides of one": (torch.empty(1, 3), torch.empty_strided((1, 3), (7, 1)), "metadata"),
    "strides": (a, a.mT.contiguous().mT, "metadata"),
    "empty strides": (torch.empty(0, 3), torch.empty_strided((0, 3), (7, 1)), "metadata"),
    "gradient": ([1.0, float("nan")], [1.0001, float("nan")], "gradient"),
    "other gradient": ([1.0, 2.0], [1.0, 2.1], "gradient"),
    "finite": (inf, torch.tensor([3.0]), "finite"),
    "both infinite": (inf, inf, "finite"),
    "too large": (inf, torch.tensor([1e39], dtype=torch.double), "finite"),
    "unreadable": (torch.zeros((), device="meta"), torch.zeros(()), "finite"),
    "impossible size": (torch.zeros(()).expand(2**61), torch.zeros(()).expand(2**61), "finite"),
    "nested": (torch.nested.nested_tensor([a]), torch.nested.nested_tensor([off]), "finite"),
    "nested shapes": (torch.nested.nested_tensor([a]), torch.nested.nested_tensor([a, a]), "metadata"),
    "other nested": (torch.nested.nested_tensor([a]), torch.nested.nested_tensor([off]), "values"),
    "storages": (a.untyped_storage(), off.untyped_storage(), "values"),
}
said = {name: differences(*pair).split("\\n")[0] for name, pair in pairs.items()}
wide = a.double()
errors = [error(wide, a), error(wide, off) > 1e4, error(wide, a[:1]), error(torch.tensor([1]), torch.tensor([2]))]
endless = torch.zeros(()).expand(2**61)
errors.append(error(endless, endless))
try:
    describe_tensor(endless, None)
except Undescribable as refused:
    errors.append(refused)
second = differences([a, {"x": (a, a)}], [a, {"x": (a, off)}], "values")
print(json.dumps([said, [str(each) for each in errors], second]))
"""

AGREEING = {
    "equal", "nan", "rounding", "layout", "no tensors", "not comparable", "named and plain tuple", "meta",
    "strides of one", "empty strides", "gradient", "both infinite", "too large", "unreadable",
    "impossible size", "nested", "nested shapes", "other nested", "storages",
}  # fmt: skip
DIFFERING = {
    "tensor and text": "another type of result",
    "object within": "other values",
    "object and tensor within": "another type of result",
    "tuple and list": "another type of result",
    "other keys": "other values",
    "other length": "other values",
    "other length of shapes": "another number of results",
    "off": "other values",
    "one of two": "other values",
    "dtype": "another dtype",
    "shape": "another shape",
    "meta dtype": "another dtype",
    "strides": "another stride",
    "other gradient": "another derivative",
    "finite": "not finite in 1 of 1 elements",
}


@pytest.mark.real
def test_results_by_the_librarys_own_rules(torch_python: Path) -> None:
    env = {"PYTHONPATH": str(Path(fuzz_core.__file__).parents[1]), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([torch_python, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    said, errors, within = json.loads(done.stdout.splitlines()[-1])
    assert {name: text for name, text in said.items() if text} == DIFFERING
    assert set(said) == AGREEING | set(DIFFERING)
    assert errors == ["0.0", "True", "inf", "inf", "0.0", f"array of {2**63} bytes"]
    assert within.startswith("other values\nTensor-likes are not close! Mismatched elements: 6 / 6 (100.0%)")
    assert within.endswith("The failure occurred for item [1]['x'][1]")


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 12)), max_size=3))
def test_elements_that_share_a_place_are_seen(dimensions: list[tuple[int, int]]) -> None:
    shape, strides = tuple(n for n, _ in dimensions), tuple(step for _, step in dimensions)
    places = [0]
    for n, step in dimensions:
        places = [place + i * step for place in places for i in range(n)]
    tensor = Tensor("float32", shape, strides=strides)
    assert overlaps(tensor) or len(set(places)) == len(places)
    assert not overlaps(tensor._replace(strides=row_major(shape)))
