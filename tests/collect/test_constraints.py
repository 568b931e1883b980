"""Sentences of a docstring: some bound an argument, others leave its values open."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from signatures import api_of

from fuzz_core.campaign.inventory import Inventory
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import document, learn_refusals
from fuzz_core.collect.constraints import from_docstring, from_message
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.docstrings import entries
from fuzz_core.ir.values import Invocation, prim
from fuzz_core.store.records import SeedRecord


def said(sentence: str, argument: str = "p") -> list[tuple[str, tuple[Any, ...]]]:
    section = f"Args:\n        {argument} (float): {sentence}\n        q: Another."
    doc = f"Does something.\n\n    {section}\n\n    Returns:\n        x"
    found = from_docstring(Api("lib.f", "function", (argument, "q"), doc=doc))
    assert all((c.api, c.argument, c.source) == ("lib.f", argument, "docstring") for c in found)
    return [(c.kind, c.bounds) for c in found]


@pytest.mark.parametrize(
    ("sentence", "bounds"),
    [
        ("Must be positive.", [("above", (0,))]),
        ("the step. Must be a positive integer.", [("above", (0,))]),
        ("Should be non-negative.", [("minimum", (0,))]),
        ("The value must be nonnegative.", [("minimum", (0,))]),
        ("Stride of the window, must be > 0.", [("above", (0,))]),
        ("padding, must be >= 0 and <= kernel_size / 2", [("minimum", (0,))]),
        ("Must be greater than or equal to 1.", [("minimum", (1,))]),
        ("It must be at least 2.", [("minimum", (2,))]),
        ("p must be less than 1.", [("below", (1,))]),
        ("must be between 0 and 1", [("minimum", (0,)), ("maximum", (1,))]),
        ("Float between 0 and 1. Fraction to drop.", [("minimum", (0,)), ("maximum", (1,))]),
        ("A float in [0.0, 1.0].", [("minimum", (0,)), ("maximum", (1,))]),
        ("Must be in the range (0, 1].", [("above", (0,)), ("maximum", (1,))]),
        ("Must be in the half-open interval [0, 1).", [("minimum", (0,)), ("below", (1,))]),
        ("Must be in [1, inf).", [("minimum", (1,))]),
        ("Must be in the range :math:`[0, 1]`.", [("minimum", (0,)), ("maximum", (1,))]),
        ("Positive integer, dimensionality of the output.", [("above", (0,))]),
        ("``'none'`` | ``'mean'`` | ``'sum'``. ``'none'``: no reduction", [("choices", ("none", "mean", "sum"))]),
        ('string, either `"valid"` or `"same"` (case-insensitive).', [("choices", ("valid", "same"))]),
        ('A `string` from: `"SAME", "VALID"`.', [("choices", ("SAME", "VALID"))]),
        ("One of 'a', 'b' or 'c'.", [("choices", ("a", "b", "c"))]),
        ("either 'strong_wolfe' or None (default: None).", [("choices", ("strong_wolfe", "none"))]),
        ("A `Tensor`. Must be one of the following types: `half`, `float32`.", [("dtypes", ("float16", "float32"))]),
        ("the way, which must be in ['a','b']", [("choices", ("a", "b"))]),
        ('Available methods are `"fast"`, `"full"` and `"wrap"`.', [("choices", ("fast", "full", "wrap"))]),
        ("Allowed values are '' and 'utf-8'.", [("choices", ("", "utf-8"))]),
        ("Currently valid values are `['fast', 'exact']`.", [("choices", ("fast", "exact"))]),
        ('Values can be `"int"`, or `"one_hot"` configuring the layer.', [("choices", ("int", "one_hot"))]),
        ('Can be the string "SAME" or "VALID" indicating the padding.', [("choices", ("SAME", "VALID"))]),
        ("Supports `\"bilinear\"`, `\"nearest\"`.", [("choices", ("bilinear", "nearest"))]),
        ("Input tensor, must be at least 2-D.", [("least-rank", (2,))]),
        ("Must be 1-dimensional.", [("rank", (1,))]),
        ("Should be a number from :math:`-1` to :math:`1`, 0 to 0.5 is best.", [("minimum", (-1,)), ("maximum", (1,))]),
        ("This has to be a number or tuple in the range (0, 1)", [("above", (0,)), ("below", (1,))]),
        ("The size of the window, must be > 0.", [("above", (0,))]),
        (r"the :math:`\lambda` (must be no less than zero) value for the formula.", [("minimum", (0,))]),
        ("the number of steps; p must be a nonnegative integer, and defaults to 2", [("minimum", (0,))]),
        ("length of the part, must be weakly positive", [("minimum", (0,))]),
        ("non-negative scalar temperature", [("minimum", (0,))]),
        ("A nonnegative margin representing the least difference that is wanted.", [("minimum", (0,))]),
    ],
)  # fmt: skip
def test_sentences_that_bound_an_argument(sentence: str, bounds: list[tuple[str, tuple[Any, ...]]]) -> None:
    assert said(sentence) == bounds


@pytest.mark.parametrize(
    "sentence",
    [
        "Usually positive.",
        "Must be positive if q is True.",
        "When q is given, must be > 0.",
        "Each element must be positive.",
        "The elements should be in [0, 1].",
        "Its size must be at least 2.",
        "Must be at least 2 elements.",
        "Must be positive or -1.",
        "Must be 0 or greater than 3, or -1.",
        "Must be positive definite.",
        "Must not be positive.",
        "The sum of p and q must be positive.",
        "A matrix whose determinant must be > 0.",
        "Values between 0 and 1 are typical.",
        "Must be in [0, K).",
        "Must be > q.",
        r"Must be :math:`\geq \text{in\_channels}`.",
        "A number such as 'a' or 'b'.",
        "e.g. one of 'a', 'b'.",
        "One of 'a', 'b', or any callable.",
        "One of 'a', 'b', etc.",
        "Can be 'a', 'b', including 'c'.",
        'Only supported in "a" or "b" modes.',
        "Only valid with 'a' or 'b'.",
        'Supported formats, for example "a" or "b".',
        "Can be a string ('a' or 'b') or a callable.",
        "Tensor of rank 4.",
        "A `Tensor` of type `int32`.",
        "1-D tensor of indices.",
        "Whether 'a' or 'b' is meant.",
        "Must be int or float.",
        "Must be a scalar or at least 2.",
        "A nonnegative, real-valued function of two tensors.",
        "Sizes of the windows, each must be > 0.",
        "The window, its size must be > 0.",
        "",
    ],
)
def test_sentences_that_leave_something_open(sentence: str) -> None:
    assert said(sentence) == []


@pytest.mark.parametrize(
    ("definition", "bounds"),
    [
        ("lib.f(p='a')", [("choices", ("a", "b"))]),
        ("lib.f(x, p='')", [("choices", ("a", "b", ""))]),
        ("lib.f(x, p=None)", [("choices", ("a", "b"))]),
        ("lib.f(x, p=<object>)", [("choices", ("a", "b"))]),
        ("lib.f(x, loop='c')", [("choices", ("a", "b"))]),
    ],
)
def test_a_default_is_a_choice(definition: str, bounds: list[tuple[str, tuple[Any, ...]]]) -> None:
    api = api_of(definition, "function", "One.\n\nArgs:\n    p: One of 'a' or 'b'.\n")
    assert [(c.kind, c.bounds) for c in from_docstring(api)] == bounds


@pytest.mark.parametrize(("default", "choices"), [("'a'", ("a", "b", "c")), ("'d'", None), ("1", None), ("None", None)])
def test_words_are_choices_where_the_default_is_one(default: str, choices: tuple[str, ...] | None) -> None:
    api = api_of(f"lib.f(p={default})", "function", "One.\n\nArgs:\n    p: Should be a, b or c.\n")
    assert [c.bounds for c in from_docstring(api)] == ([choices] if choices else [])


@pytest.mark.parametrize(("default", "kinds"), [("-1", []), ("1", ["above"]), ("None", ["above"]), ("0.5", ["above"])])
def test_a_sentence_that_its_own_default_breaks_means_something_else(default: str, kinds: list[str]) -> None:
    api = api_of(f"lib.f(p={default})", "function", "One.\n\nArgs:\n    p: Must be positive.\n")
    assert [c.kind for c in from_docstring(api)] == kinds


def test_entries_are_those_of_the_sections_of_arguments() -> None:
    doc = """One line.

    Args:
        x (Tensor): the input
            and more of it
        a, b: two of them: with a colon
        *args: the rest

    Keyword args:
        out (Tensor, optional): the output

    Returns:
        y: no argument

    Raises:
        ValueError: neither
    """
    expected = [
        ("x", "the input and more of it"),
        ("a", "two of them: with a colon"),
        ("b", "two of them: with a colon"),
        ("args", "the rest"),
        ("out", "the output"),
    ]
    assert [each[:2] for each in entries(doc)] == expected


@pytest.mark.parametrize(
    "doc",
    [
        ":param x: one\n:type x: Tensor\n:param int y: two\n    lines",
        "Args::\n    [in] x (Image): one\n    [in] y (int):  two\n        lines\nReturns:\n    z: 1",
        "Parameters::\n\n    * x (Var) \u2013 one\n    * y (int) - two lines",
        "Args:\n    x (Var):\n        one\n    y (int):\n        two\n        lines",
        "* [in] x:\tone\n\n* [in] y: two lines",
    ],
)
def test_entries_are_marked_in_many_ways(doc: str) -> None:
    assert [each[:2] for each in entries(f"Text.\n\n{doc}")] == [("x", "one"), ("y", "two lines")]


def test_a_docstring_of_several_signatures_says_nothing() -> None:
    doc = ".. function:: f(p)\n\nArgs:\n    p: Must be positive.\n\n.. function:: f(q, p)\n"
    assert list(entries(doc)) == []


@given(st.text(max_size=200) | st.text("Args:pmust be>0[]'\"|,. \n", max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for doc in (text, f"Args:\n    p: {text}"):
        for constraint in from_docstring(Api("lib.f", "function", ("p",), doc=doc)):
            assert Constraint.from_json(json.loads(json.dumps(constraint))) == constraint


@pytest.mark.parametrize(
    ("message", "bounds"),
    [
        ("p must be greater than 0, got -1.0", [("above", (0,))]),
        ("`p` must be non-negative. Received: p=-1", [("minimum", (0,))]),
        ("p has to be between 0 and 1, but got 1.5", [("minimum", (0,)), ("maximum", (1,))]),
        ("f(): p should be greater than zero", [("above", (0,))]),
        ("p must be in [-3, 2], but got 7", []),
        ("p must be at most 12", []),
        ("dropout must be positive", []),
        ("p must be positive for dilated kernels", []),
        ("p must be positive if q is", []),
        ("number of p must be positive", [("above", (0,))]),
        ("length of p must be positive", []),
        ("loop must be positive", []),
    ],
)
def test_refusals_bound_the_arguments_that_they_name(message: str, bounds: list[tuple[str, tuple[Any, ...]]]) -> None:
    assert [(c.kind, c.bounds) for c in from_message("lib.f", ("x", "p"), message)] == bounds


def test_what_is_documented_is_on_record_with_its_source(fakelib_session: Session) -> None:
    store, key = fakelib_session.store, fakelib_session.target.key
    apis = [Api("fakelib.scale", "function", ("x", "by"), doc="Scales.\n\nArgs:\n    by: Must be positive.\n")]
    declared = [Constraint("fakelib.scale", "x", "rank", (2,), "x: 2-D", "schema")]
    store.save_apis(key, apis)
    document(fakelib_session, Inventory(apis, declared))
    assert [(c.argument, c.kind, c.source) for c in store.constraints(key)] == [
        ("by", "above", "docstring"),
        ("x", "rank", "schema"),
    ]
    call = Invocation("fakelib.scale", (prim(1), prim(2)))
    store.save_trace(key, SeedRecord("d", "docs", "n", "ok"), [(call, "ok")], {}, {})
    [row] = store.invocations(key)
    store.set_validity(key, [(row.id, "exception", "exception ValueError: x must be non-negative, got -1")])
    learn_refusals(fakelib_session)
    learn_refusals(fakelib_session)
    assert [(c.argument, c.kind, c.source, c.text) for c in store.constraints(key)][1:] == [
        ("x", "minimum", "error message", "x must be non-negative, got -1"),
        ("x", "rank", "schema", "x: 2-D"),
    ]


DECLARED = """
import sys
from fuzz_core.adapters.base import adapter_of
adapter = adapter_of(sys.argv[1])
adapter.load()
for c in adapter.definitions(adapter.listed()):
    print(c.api, c.argument, c.kind, *c.bounds)
"""


def declared_by(library: str, python: Path) -> set[str]:
    root = Path(__file__).parents[2]
    command = [str(python), "-c", DECLARED, library]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(root)})
    return set(done.stdout.splitlines())


@pytest.mark.real
def test_torch_declares_lengths_of_lists_and_enum_values(torch_python: Path) -> None:
    assert {
        "torch.conv2d stride lengths 1 2",
        "torch.max_pool2d stride lengths 0 1 2",
        "torch.nn.Conv2d padding_mode choices zeros reflect replicate circular",
    } <= declared_by("torch", torch_python)


@pytest.mark.real
def test_tensorflow_declares_types_enum_values_and_minimums(tensorflow_python: Path) -> None:
    assert {
        "tf.raw_ops.AvgPool ksize length 4",
        "tf.raw_ops.AvgPool padding choices SAME VALID",
        "tf.raw_ops.AvgPool value dtypes float16 bfloat16 float32 float64",
        "tf.raw_ops.ApproxTopK k minimum 0",
        "tf.raw_ops.AddN inputs length 1",
    } <= declared_by("tensorflow", tensorflow_python)
