"""When two builds' results differ, and when rounding alone does."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz_core.adapters.arrays import describe_array
from fuzz_core.ir.values import Prim, Tensor
from fuzz_core.triage.difference import difference, same_text

LARGEST = float(np.finfo(np.float32).max)


def tensor(*numbers: float, dtype: str = "float32") -> Tensor:
    with np.errstate(over="ignore"):
        return describe_array(np.array(numbers, dtype), "tensor")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (tensor(LARGEST, 1.0), tensor(np.inf, 1.0)),
        (tensor(-np.inf), tensor(-LARGEST * (1 - 1e-7))),
        (tensor(65504.0, dtype="float16"), tensor(np.inf, dtype="float16")),
        (Prim("float", LARGEST), Prim("float", float("inf"))),
    ],
)
def test_at_the_edge_rounding_decides_what_is_infinite(before: Tensor | Prim, after: Tensor | Prim) -> None:
    assert difference(before, after) == difference(after, before) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (tensor(LARGEST / 2), tensor(np.inf)),
        (tensor(LARGEST), tensor(-np.inf)),
        (tensor(LARGEST, dtype="float64"), tensor(np.inf, dtype="float64")),
        (tensor(np.inf), tensor(np.nan)),
        (tensor(1.0), tensor(1.001)),
    ],
)
def test_what_is_not_at_the_edge_differs(before: Tensor, after: Tensor) -> None:
    assert difference(before, after).startswith("other values")
    assert difference(after, before).startswith("other values")


def test_versions_and_addresses_are_no_difference_of_texts() -> None:
    assert same_text("<f at 0x7f00> of 1.2.3", "<f at 0x7faa> of 1.3.0rc1")
    assert not same_text("shape=(12055, 0)", "shape=(47975, 0)")
