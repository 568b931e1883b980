"""Tests of element types, random streams and FuzzTypes."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir import dtypes
from fuzz_core.ir.dtypes import DTYPES, integer_bounds
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.ir.tree import children, fuzz_type
from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Then, Value, prim

EXACT = """
import json, sys
import numpy as np
import torch
from fuzz_core.adapters.pytorch.tensors import TORCH_DTYPES, _STORAGE
bad = []
for name, dtype in TORCH_DTYPES.items():
    if dtype.is_complex or name == "bool" or torch.empty(0, dtype=dtype).element_size() > 2:
        continue
    bits = 8 * torch.empty(0, dtype=dtype).element_size()
    every = torch.from_numpy(np.arange(2**bits).astype(f"uint{bits}")).view(dtype)
    stored = every.to(_STORAGE[name])
    back = stored.to(dtype)
    same = (back.view(torch.uint8) == every.view(torch.uint8)) | stored.isnan().repeat_interleave(bits // 8)
    bad += [] if bool(same.all()) else [name]
print(json.dumps({"bad": bad, "names": {name: str(dtype) for name, dtype in TORCH_DTYPES.items()}}))
"""
TENSORFLOW_NAMES = """
import json
import tensorflow as tf
from fuzz_core.ir.dtypes import DTYPES
print(json.dumps({name: tf.dtypes.as_dtype(name).name for name in DTYPES if hasattr(tf, name)}))
"""


def ask(python: Path, code: str) -> dict[str, dict[str, str]]:
    root = str(Path(dtypes.__file__).parents[2])
    done = subprocess.run([python, "-c", code], env={"PYTHONPATH": root}, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, str]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_every_element_type_has_one_row() -> None:
    assert max(Counter(row[0] for row in dtypes._ROWS).values()) == 1
    assert [name for name, dtype in DTYPES.items() if dtype.name != name] == []


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES.values() if dtype.kind != "string"])
def test_storage_is_no_narrower_than_the_type(dtype: dtypes.DType) -> None:
    storage = np.dtype(dtype.storage)
    assert storage.itemsize * 8 >= dtype.bits
    kinds = {"bool": "b", "uint": "u", "int": "i", "float": "f", "complex": "c"}
    assert storage.kind == kinds[dtype.kind]
    if dtype.kind in ("uint", "int"):
        assert (np.iinfo(storage).min, np.iinfo(storage).max) == integer_bounds(dtype.name)


@pytest.mark.parametrize("name", ["float32", "complex64", "string", "int7"])
def test_only_integers_have_bounds(name: str) -> None:
    with pytest.raises(KeyError):
        integer_bounds(name)


@pytest.mark.real
def test_storage_holds_every_value_of_narrow_types_of_torch(torch_python: Path) -> None:
    found = ask(torch_python, EXACT)
    assert not found["bad"]
    assert found["names"] == {name: f"torch.{name}" for name in DTYPES if name != "string"}


@pytest.mark.real
def test_tensorflow_knows_the_names(tensorflow_python: Path) -> None:
    found = ask(tensorflow_python, TENSORFLOW_NAMES)
    assert {name for name, own in found.items() if name != own} == set()
    assert {"float32", "bfloat16", "complex64", "string", "uint64", "bool"} <= set(found)


def test_streams_are_the_same_on_every_python() -> None:
    rng = Rng(7)
    drawn = [rng.below(1000), rng.between(-5, 5), rng.chance(0.5), rng.choice("abcdef"), rng.uniform(0, 10)]
    assert drawn == [493, 5, False, "b", 2.663794650567394]
    assert derive(1, "torch.add", 2) == 5338414996156451311
    assert Rng(2**63 - 1).below(10**6) == 233208


@given(st.lists(st.text(st.characters(exclude_characters="\x1f", exclude_categories=("Cs",))), min_size=1))
def test_seeds_are_of_63_bits_and_name_their_parts_in_order(parts: list[str]) -> None:
    assert 0 <= derive(*parts) < 2**63
    assert (derive(*parts) == derive(*reversed(parts))) == (parts == parts[::-1])
    assert derive(*parts) != derive(*parts, "")


@given(st.integers(0, 2**63), st.integers(-10, 10), st.integers(0, 10))
def test_draws_stay_in_their_bounds(seed: int, low: int, width: int) -> None:
    rng = Rng(seed)
    for _ in range(20):
        assert 0 <= rng.below(width + 1) <= width
        assert low <= rng.between(low, low + width) <= low + width
        assert low <= rng.uniform(low, low + width) <= low + width
        assert rng.weighted("ab", (1, 3)) in "ab"
    assert not rng.chance(0.0)
    assert rng.chance(1.0)


def test_both_ends_are_drawn_and_weights_count() -> None:
    rng = Rng(1)
    assert {rng.between(1, 3) for _ in range(100)} == {1, 2, 3}
    heavy = sum(rng.weighted("ab", (1, 9)) == "b" for _ in range(1000))
    assert 850 < heavy < 950
    with pytest.raises(IndexError):
        rng.choice("")


LSTM = Invocation("torch.nn.LSTM", (prim(10), prim(20)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (prim(1), "int"),
        (prim(True), "bool"),
        (prim(None), "none"),
        (prim("zeros"), "str"),
        (Prim("ellipsis", None), "ellipsis"),
        (Seq("tuple", (prim(3), prim(3))), "(int,int)"),
        (Seq("list", (prim(1), Seq("tuple", (prim(0.5),)))), "[int,(float)]"),
        (Seq("set", (prim(1),)), "{int}"),
        (Map((("a", prim(1)), ("b", prim("x")))), "{a:int,b:str}"),
        (Tensor("float32", (20, 16, 50, 100)), "tensor<4,float32>"),
        (Tensor("int64", (), container="ndarray"), "ndarray<0,int64>"),
        (Seq("tuple", (Tensor("float32", (2,)), Tensor("float32", (2, 1)))), "(tensor<1,float32>,tensor<2,float32>)"),
        (Slice(prim(0), prim(None), prim(None)), "slice"),
        (Ref("dtype", "float32"), "dtype"),
        (LSTM, "object<torch.nn.LSTM>"),
    ],
)
def test_fuzz_types_are_the_papers(value: Value, expected: str) -> None:
    assert fuzz_type(value) == expected


@given(strategies.values)
def test_every_value_has_a_fuzz_type_without_its_elements(value: Value) -> None:
    kind = fuzz_type(value)
    assert kind
    if isinstance(value, Tensor):
        other = value._replace(shape=tuple(n + 1 for n in value.shape), requires_grad=not value.requires_grad)
        assert fuzz_type(other) == kind


def test_arguments_are_found_in_all_four_places() -> None:
    call = Invocation("f", (prim(1),), (("a", prim(2)),), Then("__call__", (prim(3),), (("b", prim(4)),)))
    assert children(call) == (prim(1), prim(2), prim(3), prim(4))
