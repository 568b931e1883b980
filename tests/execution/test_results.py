from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fuzz_core.execution.replay import ProgramAnswer, read_results
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.wire import answer
from fuzz_core.worker.zygote import _told

DTYPES = st.sampled_from(["float16", "float32", "float64", "int8", "int64", "uint8", "bool"])


def line(results: Any, number: int = 3, came: Outcome = Outcome("ok")) -> bytes:  # noqa: B008 - immutable
    return json.dumps({"replayed": number, "came": came, "results": results, "spoilt": True}).encode()


@given(arrays.arrays(DTYPES, arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)))
def test_arrays_arrive_as_they_were(array: np.ndarray) -> None:
    found = answer(line({"0": _told(array)}), 3, read_results)
    assert found is not None and isinstance(found.came, dict) and found.spoilt
    np.testing.assert_array_equal(found.came[0], array)
    assert found.came[0].dtype.kind == {"u": "i"}.get(array.dtype.kind, array.dtype.kind)


def test_how_a_program_ended_is_told_instead() -> None:
    outcome = Outcome("exception", "ValueError", "no")
    assert answer(line({}, came=outcome), 3, read_results) == ProgramAnswer(outcome, True)


@pytest.mark.parametrize(
    "told",
    [
        ["<f8", [2], ""],
        ["<f8", [-1], ""],
        ["|O", [0], ""],
        ["<f8", ["1"], ""],
        ["<f8", [1] * 40, ""],
        [1, 2],
        "x",
        None,
    ],
)
def test_what_is_no_array_is_garbage(told: Any) -> None:
    assert answer(line({"0": told}), 3, read_results) is None
    assert answer(line({"x": ["<f8", [0], ""]}), 3, read_results) is None


@given(st.binary() | st.text().map(str.encode) | st.just(line({}, 4)))
def test_anything_else_on_the_pipe_is_garbage(data: bytes) -> None:
    assert answer(data, 3, read_results) is None
