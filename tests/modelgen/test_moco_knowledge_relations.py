"""Tests of constraints between parameters: read from sentences, computed without execution, checked against calls."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.values import Seq, Tensor, prim
from fuzz_core.modelgen.expressions import holds, names_of, read
from fuzz_core.modelgen.moco.facts import Parameter
from fuzz_core.modelgen.moco.knowledge.seen import SeenCall, kept
from fuzz_core.modelgen.moco.knowledge.words import relations_of, stated

NAMES = ("groups", "in_channels", "out_channels", "size", "scale_factor", "dilation_rate", "strides")


@pytest.mark.parametrize(
    ("text", "expressions"),
    [
        (":attr:`in_channels` must be divisible by :attr:`groups`.", ["in_channels % groups == 0"]),
        (
            "* Here `in_channels` and `out_channels` must both be divisible by `groups`",
            ["in_channels % groups == 0", "out_channels % groups == 0"],
        ),
        ("size should be at most in_channels (got 3).", ["size <= in_channels"]),
        ("'size' must be smaller than the 'groups'", ["size < groups"]),
        ("only one of size or scale_factor should be defined", ["size is None or scale_factor is None"]),
        ("either size or scale_factor should be defined", ["size is not None or scale_factor is not None"]),
        (
            "Now, specifying any `dilation_rate` value != 1 is incompatible with specifying any stride value != 1.",
            ["dilation_rate == 1 or strides == 1"],
        ),
        ("If it is used, size must be less than groups.", []),
        ("size must be less than groups times 2", []),
        ("resize must be less than groups", []),
        ("size must be positive.", []),
    ],
)
def test_what_a_sentence_states(text: str, expressions: list[str]) -> None:
    assert [expression for expression, _ in stated(text, NAMES)] == expressions


def test_a_relation_keeps_its_words_and_its_parameters() -> None:
    parameters = [Parameter(name=name) for name in NAMES]
    (relation,) = relations_of([("error message", "in_channels must be divisible by groups")], parameters)
    assert relation.parameters == ("groups", "in_channels")
    assert (relation.origin.source, relation.origin.text) == (
        "error message",
        "in_channels must be divisible by groups",
    )


@pytest.mark.parametrize(
    ("size", "groups", "stays"),
    [
        (prim(4), prim(2), True),
        (prim(4), prim(3), False),
        (Seq("tuple", (prim(4), prim(6))), prim(2), True),
        (Seq("tuple", (prim(4), prim(5))), prim(2), False),
        (prim("same"), prim(3), True),
        (Tensor("float32", (1,)), prim(3), True),
    ],
)
def test_a_call_that_works_contradicts_what_is_not_so(size: Any, groups: Any, stays: bool) -> None:
    parameters = [Parameter(name="size", default="4"), Parameter(name="groups", default="1")]
    relations = relations_of([("docstring", "size must be divisible by groups")], parameters)
    assert bool(kept(relations, [SeenCall({"size": size, "groups": groups})], parameters)) is stays


def test_what_a_call_leaves_out_has_its_default() -> None:
    parameters = [Parameter(name="size", default="4"), Parameter(name="groups", default="3")]
    relations = relations_of([("docstring", "size must be divisible by groups")], parameters)
    assert kept(relations, [SeenCall({})], parameters) == ()
    assert kept(relations, [], parameters) == tuple(relations)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "a.b == 1",
        "a[0] == 1",
        "(lambda: 1)()",
        "[x for x in a]",
        "len(a, b)",
        "len(*a)",
        "isinstance(a, object)",
        "isinstance(a, __import__)",
        "a ** 9999999 == 1",
        "a << 9",
        "f'{a}' == ''",
        "a := 1",
        "if a: b = 1",
        "1 +",
        "a" * 1000,
        "(" * 400,
    ],
)
def test_what_is_no_plain_constraint_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read(text)


@pytest.mark.parametrize(
    ("text", "values", "truth"),
    [
        ("a % b == 0", {"a": 4, "b": 2}, True),
        ("a % b == 0", {"a": 4, "b": 0}, None),
        ("a % b == 0", {"a": 4}, None),
        ("a < b", {"a": 1, "b": "x"}, None),
        ("len(a) == b", {"a": (1, 2), "b": 2}, True),
        ("isinstance(a, int) or len(a) in (2, 3)", {"a": (1, 2)}, True),
        ("isinstance(a, (int, float)) and not a < 0", {"a": -1.0}, False),
        ("a is None or b is None", {"a": None, "b": 1}, True),
        ("a + b <= -1", {"a": (1, 2), "b": (1, 2, 3)}, None),
        ("a * 2 <= b", {"a": (1, 2), "b": 3}, False),
        ("a * b == 1", {"a": "x", "b": 10**9}, None),
        ("0 < a <= 1", {"a": 0.5}, True),
    ],
)
def test_expressions_are_computed_here(text: str, values: dict[str, Any], truth: bool | None) -> None:
    assert holds(read(text), values) is truth


def test_names_are_parameters_alone() -> None:
    assert names_of(read("isinstance(a, int) and len(b) == c")) == {"a", "b", "c"}


OPERANDS = st.sampled_from(["a", "b", "1", "2.5", "None", "'x'", "(a + b)", "len(a)", "isinstance(b, int)"])
SIGNS = st.sampled_from(["<", "==", "is", "+", "%", "and", "or", "//"])


@given(OPERANDS, SIGNS, OPERANDS, st.integers(-3, 3), st.integers(-3, 3))
def test_where_something_is_said_python_agrees(left: str, sign: str, right: str, a: int, b: int) -> None:
    text = f"{left} {sign} {right}"
    found = holds(read(text), {"a": a, "b": b})
    if found is not None:
        code = compile(ast.parse(text.replace(" is ", " == "), mode="eval"), "here", "eval")
        assert found is bool(eval(code, {"a": a, "b": b}))


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        tree = read(text)
    except ValueError:
        return
    assert holds(tree, {"a": 1}) in (True, False, None)
