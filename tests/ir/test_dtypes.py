"""Tests that the table of dtypes is right about rounding, and that the project has no second table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import inf
from pathlib import Path

import numpy as np
import pytest

import fuzz_core
from fuzz_core.ir.dtypes import DTYPES, DType, coarseness, double_of
from fuzz_core.ir.elements import pack
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase
from fuzz_core.mutation.rules.values import COMMON_DTYPES, RARE_DTYPES
from fuzz_core.triage.difference import difference
from fuzz_core.worker.nearby import scales

ROOT = Path(fuzz_core.__file__).parent
# Tables of dtypes that belong to a library or another program, or that state the preference of one decision.
OTHERS = {
    "adapters/jittor/dialect.py": "dtypes that Jittor infers, and those that it lacks",
    "adapters/pytorch/dialect.py": "dtypes that PyTorch infers",
    "adapters/literals.py": "dtypes that numpy infers",
    "adapters/tensorflow/tensors.py": "tolerances of tf.test",
    "adapters/tensorflow/signatures.py": "dtypes of the functions that a search passes",
    "adapters/tensorflow/dialect.py": "dtypes that TensorFlow infers, and those that it draws",
    "collect/constraints.py": "other names in docstrings",
    "oracles/cost.py": "precisions that are timed",
    "synthesis/drawer.py": "dtypes that a search draws more often",
    "synthesis/refusals.py": "other names in messages",
    "triage/cost.py": "which dtypes are simplest",
    "triage/simplify.py": "the default dtype of each kind",
}
# Bits of the exponent and of the mantissa.
LAYOUTS = {
    "float8_e4m3fn": (4, 3),
    "float8_e5m2": (5, 2),
    "float16": (5, 10),
    "bfloat16": (8, 7),
    "float32": (8, 23),
    "float64": (11, 52),
    "complex32": (5, 10),
    "complex64": (8, 23),
    "complex128": (11, 52),
}


def tables(source: str) -> Iterator[int]:
    """Yields the lines of literals that hold three dtypes or more."""
    for node in ast.walk(ast.parse(source)):
        held = [*node.keys, *node.values] if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        flat = [part for each in held for part in getattr(each, "elts", [each])]
        words = {part.value for part in flat if isinstance(part, ast.Constant)}
        if len(words & DTYPES.keys()) > 2:
            yield getattr(node, "lineno", 0)


def test_nobody_keeps_a_second_table() -> None:
    paths = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*.py")}
    found = {name for name, path in paths.items() if [*tables(path.read_text(encoding="utf-8"))]}
    assert found == {"ir/dtypes.py", *OTHERS}


@pytest.mark.parametrize(
    ("source", "second"),
    [
        ('{"float16": 65504.0, "bfloat16": 3.4e38, "float32": 3.4e38}', True),
        ('dtype in ("float16", "float32", "float64")', True),
        ('[("int8", 127), ("int16", 32767), ("int32", 2147483647)]', True),
        ('{"half": "float16", "float": "float32", "double": "float64"}', True),
        ('dtype in ("float16", "bfloat16")', False),
        ('["tensor", "float32", "mean"]', False),
    ],
)
def test_what_a_table_is(source: str, second: bool) -> None:
    assert bool([*tables(source)]) == second


def test_every_rounded_type_has_a_layout() -> None:
    assert [name for name, dtype in DTYPES.items() if dtype.floating] == [*LAYOUTS]
    assert not [dtype for dtype in DTYPES.values() if dtype.floating != (dtype.epsilon > 0)]


@pytest.mark.parametrize("dtype", [DTYPES[name] for name in LAYOUTS], ids=[*LAYOUTS])
def test_limits_follow_from_the_layout(dtype: DType) -> None:
    exponent, mantissa = LAYOUTS[dtype.name]
    bias = 2 ** (exponent - 1) - 1
    assert dtype.normal == 2.0 ** (1 - bias)
    assert dtype.epsilon == 2.0**-mantissa
    # If a dtype has no infinity, only its highest bit pattern is NaN.
    finite = dtype.name.endswith("fn")
    assert dtype.largest == 2.0 ** (bias + finite) * (2 - (1 + finite) * dtype.epsilon)
    assert round(dtype.denormal / 2.0 ** (1 - bias - mantissa)) == 1


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
def test_limits_are_those_of_numpy(name: str) -> None:
    known = np.finfo(name)
    dtype = DTYPES[name]
    assert (dtype.largest, dtype.normal, dtype.epsilon) == (known.max, known.tiny, known.eps)
    with np.errstate(all="ignore"):
        assert np.dtype(name).type(dtype.denormal).real == known.smallest_subnormal


def test_a_double_is_of_the_same_kind_and_loses_nothing() -> None:
    for name, dtype in DTYPES.items():
        wide = DTYPES[double_of(name)]
        assert wide.kind == dtype.kind
        assert wide.epsilon <= dtype.epsilon
        assert wide == dtype or dtype.floating
    assert double_of("no dtype") == "no dtype"


def test_rules_draw_every_number_type_in_the_order_of_the_table() -> None:
    whole = ["bool", "uint8", "int8", "int16", "int32", "int64"]
    assert [*COMMON_DTYPES] == [*whole, "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
    assert [*RARE_DTYPES] == ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2", "complex32"]


def test_tolerances_grow_with_the_step() -> None:
    floats = sorted((dtype for dtype in DTYPES.values() if dtype.floating), key=lambda dtype: dtype.epsilon)
    relative = [dtype.tolerance.relative for dtype in floats]
    assert relative == sorted(relative)
    assert all(dtype.tolerance.relative > dtype.epsilon / 2 for dtype in floats)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_test_case_is_weighed_by_its_own_limits(name: str) -> None:
    test = TestCase(Invocation("f", (Tensor(name, (2,), Fill("constant", 1.0)),)), 0)
    most = inf if name in ("float64", "complex128") else DTYPES[name].largest
    assert [(tiny, large) for *_, tiny, large in scales(test)] == [(DTYPES[name].normal, most)]


@pytest.mark.parametrize("name", ["float8_e5m2", "bfloat16", "complex32"])
def test_at_the_edge_of_a_narrow_type_rounding_decides_what_is_infinite(name: str) -> None:
    def described(number: float) -> Tensor:
        return Tensor(name, (1,), Fill("values", data=pack(np.array([number], DTYPES[name].storage))))

    top = DTYPES[name].largest
    assert difference(described(top), described(inf)) == ""
    assert difference(described(top / 2), described(inf)).startswith("other values")


def test_the_coarsest_dtype_counts_and_doubles_are_no_finer_than_single_precision() -> None:
    assert coarseness(["float64", "float32", "int64"]) == coarseness([]) == 1.0
    assert coarseness(["float32", "bfloat16", "float16"]) == coarseness(["bfloat16"]) > coarseness(["float16"]) > 1000
