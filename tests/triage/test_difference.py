"""Tests of the differences between two builds' results, and of differences by rounding alone."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz_core.adapters.arrays import describe_array
from fuzz_core.ir.values import Map, Prim, Seq, Tensor, Value
from fuzz_core.triage.difference import difference, distance, same_text

LARGEST = float(np.finfo(np.float32).max)


def tensor(*numbers: float, dtype: str = "float32") -> Tensor:
    with np.errstate(over="ignore"):
        return describe_array(np.array(numbers, dtype), "tensor")


ONE = tensor(1.0)


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


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (Seq("tuple", (ONE,)), Seq("list", (ONE,)), "another type of result\ntuple before, now list"),
        (Seq("list", (ONE,)), ONE, "another type of result\nseq before, now float32 tensor"),
        (Seq("list", (ONE, ONE)), Seq("list", (ONE,)), "another number of results\n2 before, now 1"),
        (Map((("a", ONE),)), Map((("b", ONE),)), "other keys\n"),
        (Map((("a", ONE),)), Map((("a", ONE), ("b", ONE))), "other keys\n"),
        (
            Seq("list", (ONE, Prim("int", 1))),
            Seq("list", (ONE, Prim("float", 1.0))),
            "another type of result\nint before, now float",
        ),
        (
            Seq("list", (ONE, Seq("list", ()))),
            Seq("list", (ONE, Seq("tuple", ()))),
            "another type of result\nlist before, now tuple",
        ),
    ],
)
def test_results_that_are_not_made_alike_differ(before: Value, after: Value, text: str) -> None:
    assert difference(before, after) == text
    assert difference(before, before) == difference(after, after) == ""


def test_nothing_is_near_what_is_not_made_alike() -> None:
    assert distance(Seq("tuple", (ONE,)), Seq("tuple", (ONE,))) == 0.0
    assert distance(Seq("tuple", (ONE,)), Seq("list", (ONE,))) == np.inf
