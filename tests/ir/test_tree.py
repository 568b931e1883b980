"""Tests of walks of the value tree: one order, the same paths, and a complete tree after rebuilding."""

from __future__ import annotations

import strategies
from hypothesis import given

from fuzz_core.ir.tree import (
    children,
    exchanged,
    numbers_of,
    outline,
    positions,
    rewritten,
    tensors_of,
    texts_of,
    walk,
    with_children,
    with_tensors,
)
from fuzz_core.ir.values import NONE, Fill, Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Then, Value, prim

LEFT, RIGHT = Tensor("int8", (1,), Fill(key=1)), Tensor("float32", (2,), Fill(key=2))
INNER = Invocation("m.Inner", (prim("in"),), (), Then("step", (LEFT,)))
CALL = Invocation(
    "m.call",
    (prim(1), Seq("list", (prim(True), INNER))),
    (("a", Slice(prim(2), NONE, prim(3))),),
    Then("__call__", (prim("then"),), (("b", Map((("k", RIGHT), ("l", prim(2.5))))),)),
)


def test_what_is_inside_stands_from_left_to_right() -> None:
    assert children(CALL) == (prim(1), CALL.args[1], CALL.kwargs[0][1], prim("then"), CALL.then.kwargs[0][1])  # type: ignore[union-attr]
    assert [each.value for each in walk(CALL) if isinstance(each, Prim)] == [1, True, "in", 2, None, 3, "then", 2.5]
    assert list(tensors_of(CALL)) == [LEFT, RIGHT]
    assert list(texts_of(CALL)) == ["in", "then"]


def test_numbers_of_slices_are_places_and_none_of_the_calls() -> None:
    assert list(numbers_of(CALL)) == [1, True, 2.5]


def test_closed_types_are_visited_and_not_entered() -> None:
    assert list(walk(CALL.args[1], Invocation)) == [CALL.args[1], prim(True), INNER]
    assert list(walk(INNER, Invocation)) == [INNER]

    def text(value: Value) -> Value:
        return prim("new") if isinstance(value, Prim) else value

    assert rewritten(CALL.args[1], text, Invocation) == Seq("list", (prim("new"), INNER))
    assert rewritten(CALL, text, Slice).kwargs == CALL.kwargs


def test_what_was_changed_is_not_changed_again() -> None:
    def wrapped(value: Value) -> Value:
        return Seq("list", (value, NONE)) if isinstance(value, Tensor) else value

    made = rewritten(CALL, wrapped)
    assert made == exchanged(exchanged(CALL, (4, 0), wrapped(RIGHT)), (1, 1, 1), wrapped(LEFT))
    assert [each for each in walk(made) if isinstance(each, Tensor)] == [LEFT, RIGHT]


def test_an_outline_forgets_elements_alone() -> None:
    plain = with_tensors(CALL, lambda tensor: tensor._replace(fill=Fill("constant", 3.0)))
    assert plain != CALL
    assert outline(plain) == outline(CALL) != outline(plain._replace(api="m.other"))
    assert outline(RIGHT) == Tensor("float32", (2,))
    assert outline(Ref("dtype", "int8")) == Ref("dtype", "int8")


@given(strategies.values)
def test_a_value_is_made_of_what_is_inside(value: Value) -> None:
    assert with_children(value, children(value)) == value
    assert rewritten(value, lambda each: each) == value
    assert [each for _, each in positions(value)] == list(walk(value))
    for path, each in positions(value):
        assert exchanged(value, path, each) == value
