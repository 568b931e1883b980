"""Tests of domains: a loss may require labels that sum to one, and an image an interval."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fuzz_core.ir.elements import elements, pack
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase
from fuzz_core.worker.domains import (
    confined,
    depends_on_device,
    distributed,
    intervals,
    is_no_distribution,
    repeats_indices,
)
from fuzz_core.worker.nearby import with_distinct_indices


def tensor(rows: list[list[float]], dtype: str = "float32") -> Tensor:
    made = np.array(rows, dtype=dtype)
    return Tensor(dtype, made.shape, Fill("values", data=pack(made.reshape(-1))))


def arrays(case: TestCase) -> list[Any]:
    return [elements(each).reshape(each.shape).tolist() for each in tensors_of(case.invocation)]


def test_each_tensor_in_turn_holds_distributions_along_each_dimension() -> None:
    labels, logits = [[1.0, 3.0], [0.0, 0.0]], [[8.0], [-8.0]]
    made = list(map(arrays, distributed(TestCase(Invocation("lib.f", (tensor(labels), tensor(logits))), 1))))
    assert made == [
        [[[0.25, 0.75], [0.5, 0.5]], logits],
        [[[1.0, 1.0], [0.0, 0.0]], logits],
        [labels, [[1.0], [1.0]]],
        [labels, [[0.5], [0.5]]],
    ]


def test_of_integers_the_largest_is_one() -> None:
    case = TestCase(Invocation("lib.f", (tensor([[7, 2], [5, 5]], "int32"),)), 1)
    assert list(map(arrays, distributed(case))) == [[[[1, 0], [1, 0]]], [[[1, 0], [0, 1]]]]


class Loss:
    """A difference of two derivatives of a loss: they agree if each row of the labels sums to one."""

    def __init__(self, doc: str, rows: list[list[float]], is_wrong: bool = False) -> None:
        self.case = TestCase(Invocation("lib.loss", (tensor(rows),)), 1)
        self.is_wrong = is_wrong
        builder = SimpleNamespace(found=lambda name: SimpleNamespace(__doc__=doc))
        self.executor = SimpleNamespace(mode=lambda name: SimpleNamespace(builder=builder))
        self.mode = "grad-numerical"

    def agree(self, case: TestCase) -> bool:
        [labels] = arrays(case)
        return not self.is_wrong and all(sum(row) == pytest.approx(1) for row in labels)


@pytest.mark.parametrize(
    ("doc", "is_wrong", "excused"),
    [
        ("Computes softmax cross entropy.", False, True),
        ("Each row must be a valid probability\n    distribution.", False, True),
        ("Computes softmax cross entropy.", True, False),
        ("Computes the mean of squares.", False, False),
    ],
)
def test_a_loss_whose_documentation_speaks_of_distributions_is_asked_about_them(
    doc: str, is_wrong: bool, excused: bool
) -> None:
    assert is_no_distribution(Loss(doc, [[1.0, 1.0], [1.0, 0.0]], is_wrong)) is excused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Converts.\n\nThe output is only well defined if the value in `images`\nare in `[0,1]`.", [(0.0, 1.0)]),
        ("Only well defined if the Y value are in [0,1], U and V value are in [-0.5,0.5].", [(0.0, 0.5)]),
        ("All HSV values are in `[0,1]`.", []),
        ("axis: must be in [0, 3].", []),
        ("Values should be small. The shape is `[2, 3]`.", []),
    ],
)
def test_an_interval_counts_where_a_sentence_obliges_the_elements(text: str, found: list[tuple[float, float]]) -> None:
    assert list(intervals(text)) == found


def test_a_tensor_that_leaves_the_interval_is_scaled_into_it() -> None:
    inside, outside = [[0.25, 0.5]], [[-3.0, 1.0]]
    case = TestCase(Invocation("lib.f", (tensor(inside), tensor(outside), tensor([[7]], "int32"))), 1)
    [made] = map(arrays, confined(case, 0.0, 1.0))
    assert made == [inside, [pytest.approx([0.05, 0.95])], [[7]]]


def test_indices_are_made_distinct_as_elements_and_as_rows() -> None:
    indices = tensor([[1, 2], [1, 2]], "int32")
    case = TestCase(Invocation("lib.f", (tensor([[0.0] * 3] * 2), indices)), 1)
    # Rows are places in the table. The four elements are no distinct indices of its two rows.
    assert [arrays(each)[1] for each in with_distinct_indices(case)] == [[[0, 0], [0, 1]]]
    wide = TestCase(Invocation("lib.f", (tensor([[0.0]] * 4), indices)), 1)
    assert [arrays(each)[1] for each in with_distinct_indices(wide)] == [[[0, 0], [1, 0]], [[0, 1], [2, 3]]]
    distinct = TestCase(Invocation("lib.f", (tensor([[0.0] * 3] * 2), tensor([[0, 1]], "int32"))), 1)
    assert list(with_distinct_indices(distinct)) == []


class Scatter(Loss):
    """A difference of two results of a scattered write: they agree if each index is there once."""

    def __init__(self, doc: str, is_wrong: bool = False) -> None:
        super().__init__(doc, [[0.0], [0.0], [0.0]], is_wrong)
        written = tensor([[0], [0]], "int32")
        self.case = TestCase(Invocation("lib.scatter", (*self.case.invocation.args, written)), 1)

    def agree(self, case: TestCase) -> bool:
        _, [[one], [other]] = arrays(case)
        return not self.is_wrong and one != other


@pytest.mark.parametrize(
    ("doc", "is_wrong", "excused"),
    [
        ("The output is nondeterministic if `indices` contains duplicates.", False, True),
        ("The output is nondeterministic if `indices` contains duplicates.", True, False),
        ("Writes updates.", False, False),
    ],
)
def test_repeated_indices_excuse_a_difference_where_documentation_speaks_of_them(
    doc: str, is_wrong: bool, excused: bool
) -> None:
    assert repeats_indices(Scatter(doc, is_wrong)) is excused  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("doc", "mode", "shapes", "excused"),
    [
        ("Not unique: different hardware and software may compute different singular vectors.", "cuda", "", True),
        (
            "So different platforms, like SciPy, or inputs on different devices,\n may produce different ones.",
            "cuda",
            "",
            True,
        ),
        ("Not unique: different hardware and software may compute different singular vectors.", "strided", "", False),
        (
            "Not unique: different hardware and software may compute different singular vectors.",
            "cuda",
            "2 != 3",
            False,
        ),
        ("The arguments may be on different devices.", "cuda", "", False),
        ("Computes the singular values.", "cuda", "", False),
    ],
)
def test_documentation_may_leave_elements_to_the_device(doc: str, mode: str, shapes: str, excused: bool) -> None:
    found = Loss(doc, [[1.0]])
    found.mode = mode
    found.reference = found.result = None  # type: ignore[attr-defined]
    found.adapter = SimpleNamespace(  # type: ignore[attr-defined]
        device_modes=lambda: ("cpu", "cuda"), differences=lambda one, other, relation: shapes
    )
    assert depends_on_device(found) is excused  # type: ignore[arg-type]
