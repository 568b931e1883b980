"""Float64 doubles and difference quotients for any library of arrays: the bugs they find and the calls they accept."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import exp, sin
from pathlib import Path

import numpy as np
import pytest

import fuzz_core
from fuzz_core.adapters import base
from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.doubles import Doubled, direction, nudged, quotient, step_direction
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Fill, Ref, Tensor


class Numbers(base.Adapter):
    library = "numbers"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "bool"])
def test_doubles_have_the_same_numbers(dtype: str) -> None:
    tensor, adapter = Tensor(dtype, (3, 4), Fill(low=0.0, high=9.0, key=3)), Numbers()
    live = adapter.build(tensor, "cpu")
    wide = Doubled(adapter, ModeSpec()).tensor(live, tensor)
    assert wide.dtype == ("float64" if dtype.startswith("float") else live.dtype)
    assert (wide == live).all()
    assert (Doubled(adapter, ModeSpec(noise=4.0)).tensor(live, tensor) == live).all() == (not dtype.startswith("float"))


def test_dtypes_by_every_name_are_doubles() -> None:
    widened = Doubled(Numbers(), ModeSpec())
    assert widened.ref(Ref("dtype", "float16")) == Ref("dtype", "float64")
    assert widened.ref(Ref("name", "numbers.float32")) == Ref("name", "numbers.float64")
    assert widened.ref(Ref("name", "other.float32")) == Ref("name", "other.float32")
    assert widened.ref(Ref("dtype", "int8")) == Ref("dtype", "int8")


def test_equal_numbers_differ_once_they_are_nudged() -> None:
    moved = nudged(np.array([2.0, 2.0, 0.0, 0.0]), 1e-6)
    assert len(set(moved)) == 4
    assert np.abs(moved - [2.0, 2.0, 0.0, 0.0]).max() <= 2e-6


@pytest.mark.parametrize(("function", "slope"), [(sin, 1.0), (exp, 1.0), (lambda x: 3 * x + 100, 3.0)])
def test_quotients_of_smooth_functions(function: Callable[[float], float], slope: float) -> None:
    assert quotient(function, 1.0) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        abs,
        lambda x: float(x > 0),
        lambda x: 1e9 + x,
        lambda x: float(np.float32(1 + x)),
        lambda x: round(x * 1e9),
    ],
    ids=["kink", "jump", "large", "single", "steps"],
)
def test_where_there_is_no_quotient(function: Callable[[float], float]) -> None:
    with pytest.raises(BuildError):
        quotient(function, 1.0)


def test_a_flat_function_has_none() -> None:
    assert quotient(lambda x: 2.0, 1.0) is None
    assert quotient(lambda x: 2.0, coarse=0.25) is None


def test_a_coarse_step_shows_the_steps_of_what_is_flat() -> None:
    assert quotient(lambda x: float(round(4 * x)), 1.0) is None
    with pytest.raises(BuildError, match="takes steps"):
        quotient(lambda x: float(round(4 * x)), coarse=0.25)


def test_quotients_stand_in_one_place() -> None:
    root = Path(fuzz_core.__file__).parent
    rounding = [path.name for path in root.rglob("*.py") if re.search(r"EPSILON\b.* / STEP\b", path.read_text())]
    assert rounding == ["doubles.py"]


def test_square_matrices_move_symmetrically() -> None:
    assert (step_direction((3, 3)) == step_direction((3, 3)).T).all()
    assert (step_direction((2, 3)) == direction((2, 3), 0.9)).all()
