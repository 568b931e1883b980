"""The shared comparison: one walk over results and one tolerance rule, for any library whose tensors are arrays."""

from __future__ import annotations

import ast
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import fuzz_core
from fuzz_core.adapters.compare import Comparer, named

ONE, FAR = np.array([1.0, 2.0], np.float32), np.array([1.0, 2.1], np.float32)
COMPARER = Comparer(lambda value: None)


class Point(NamedTuple):
    x: Any
    y: Any


@pytest.mark.parametrize(
    ("reference", "other", "text"),
    [
        ((ONE, ONE), [ONE, ONE], "type of result is list, expected tuple"),
        ((ONE,), ONE, "type of result is ndarray, expected tuple"),
        ([ONE], [ONE, ONE], "2 results against 1"),
        ({"a": ONE}, {"b": ONE}, "keys is ['b'], expected ['a']"),
        ([ONE, [ONE, ONE]], [[ONE, ONE], ONE], "type of result is list, expected ndarray"),
        (ONE, None, "type of result is NoneType, expected ndarray"),
    ],
)
def test_results_that_are_not_made_alike_differ(reference: Any, other: Any, text: str) -> None:
    for relation in ("values", "behaviour", "shape", "metadata"):
        assert COMPARER.differences(reference, other, relation) == text
    assert COMPARER.differences(reference, other, "finite") == ""
    assert COMPARER.error(reference, other) == np.inf


def test_what_cannot_be_compared_is_no_difference_between_its_likes_alone() -> None:
    assert COMPARER.differences((ONE, object()), (ONE, "text"), "values") == ""
    assert COMPARER.differences((ONE, object()), (FAR, object()), "values").startswith("1 of 2 elements differ")
    assert COMPARER.differences((ONE, "text"), (ONE, ONE), "values") == "type of result is ndarray, expected str"
    assert COMPARER.error((ONE, "text"), (ONE, ONE)) == np.inf


def test_named_tuples_and_queues_are_what_they_are_made_of() -> None:
    assert COMPARER.differences(Point(ONE, ONE), (ONE, ONE), "values") == ""
    assert COMPARER.differences(deque([ONE]), [ONE], "values") == ""
    assert COMPARER.differences(Point(ONE, {"a": ONE}), Point(ONE, {"a": FAR}), "values").startswith("1 of 2")


def test_keys_that_cannot_be_sorted_are_compared() -> None:
    assert COMPARER.differences({1: ONE, "a": ONE}, {"a": ONE, 1: ONE}, "values") == ""
    assert COMPARER.differences({1: ONE, "a": ONE}, {"a": FAR, 1: ONE}, "values") != ""


def test_results_that_hold_themselves_have_an_end() -> None:
    endless: list[Any] = [ONE]
    endless.append(endless)
    assert COMPARER.differences(endless, endless, "values") == ""


def test_derivatives_of_another_number_differ() -> None:
    assert COMPARER.differences([1.0], [1.0, 2.0], "gradient") == "number of derivatives is 2, expected 1"
    assert COMPARER.differences([1.0, None], [1.0, 2.0], "gradient") == ""


def test_places_are_written_as_they_are_in_code() -> None:
    assert named((0, "a", 2)) == "[0]['a'][2]"
    assert named(()) == ""


def test_the_walk_and_the_tolerances_stand_in_one_place() -> None:
    """Looks for the tolerance of float32 and for the functions that walk results; both are in `compare.py` alone."""
    root = Path(fuzz_core.__file__).parent
    found = set()
    for path in (*root.joinpath("adapters").rglob("*.py"), *root.joinpath("triage").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            tolerance = isinstance(node, ast.Constant) and node.value == 1.3e-6
            walk = isinstance(node, ast.FunctionDef) and node.name in ("pairs", "leaves", "units", "named")
            if tolerance or walk:
                found.add(path.relative_to(root).as_posix())
    assert found == {"adapters/compare.py"}
