"""Tests of shape inference: from concrete shapes and parameters to the result's shape, or a refusal."""

from __future__ import annotations

import pytest
from gandalf_grounds import operator

from fuzz_core.modelgen.gandalf.shapes import ShapeError, TensorShape, infer
from fuzz_core.modelgen.gandalf.table import load

IMAGE = TensorShape((2, 4, 9, 7), "float")


def test_a_convolution_by_its_formula() -> None:
    made = infer(load()["conv2d"], [IMAGE], {"K": 3, "k": 3, "s": 2, "p": 1, "d": 1})
    assert made.result == TensorShape((2, 3, 5, 4), "float")
    assert made.weights == {"w": (3, 4, 3, 3), "b": (3,)}


def test_the_rest_of_a_shape_goes_through() -> None:
    linear = load()["linear"]
    assert infer(linear, [TensorShape((2, 3, 5, 7), "float")], {"K": 4}).result.shape == (2, 3, 5, 4)


def test_sizes_of_one_name_must_agree() -> None:
    matmul = load()["matmul"]
    assert infer(matmul, [TensorShape((3, 2, 4), "float"), TensorShape((3, 4, 5), "float")], {}).result.shape == (
        3,
        2,
        5,
    )
    with pytest.raises(ShapeError, match="J is 4, not 6"):
        infer(matmul, [TensorShape((3, 2, 4), "float"), TensorShape((3, 6, 5), "float")], {})
    with pytest.raises(ShapeError, match=r"\.\.\. is"):
        infer(matmul, [TensorShape((3, 2, 4), "float"), TensorShape((2, 4, 5), "float")], {})


def test_numbers_in_a_pattern_must_be_there() -> None:
    with pytest.raises(ShapeError, match="3 is not 4"):
        infer(load()["cross"], [TensorShape((2, 4), "float"), TensorShape((2, 4), "float")], {})


def test_the_result_has_the_dtype_of_the_first_input_or_its_own() -> None:
    either = operator("    takes: {x: 'any[...]', y: 'any[...]'}\n    gives: same[...]\n")
    assert infer(either, [TensorShape((2,), "int"), TensorShape((2,), "int")], {}).result.dtype == "int"
    with pytest.raises(ShapeError, match="any is int, not bool"):
        infer(either, [TensorShape((2,), "int"), TensorShape((2,), "bool")], {})
    assert infer(load()["argmax"], [IMAGE], {}).result == TensorShape((2, 4, 9), "int")


@pytest.mark.parametrize(
    ("name", "inputs", "parameters"),
    [
        ("relu", [TensorShape((2,), "int")], {}),
        ("relu", [], {}),
        ("relu", [IMAGE], {"k": 1}),
        ("conv2d", [TensorShape((2, 4, 9), "float")], {"K": 3, "k": 3, "s": 2, "p": 1, "d": 1}),
        ("conv2d", [IMAGE], {"K": 3, "k": 9, "s": 2, "p": 1, "d": 1}),
        ("conv2d", [IMAGE], {"K": 3, "k": 3, "s": 2, "p": 1, "d": 2}),
        ("glu", [TensorShape((2, 5), "float")], {}),
        ("sum", [TensorShape((5,), "float")], {}),
        ("diff", [TensorShape((5, 1), "float")], {}),
    ],
)
def test_what_an_operator_does_not_take_is_refused(
    name: str, inputs: list[TensorShape], parameters: dict[str, int]
) -> None:
    with pytest.raises(ShapeError):
        infer(load()[name], inputs, parameters)
