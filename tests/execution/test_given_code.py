"""Tests that separate text which the library compiles from names which the library looks up."""

from __future__ import annotations

import pytest

from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.tree import texts_of
from fuzz_core.ir.values import Invocation, Prim, Seq, TestCase, Then, Value
from fuzz_core.worker.execution import TEXT, uses_compiled_text, without_given

OPERATORS = ("add", "min")


def reindexed(test: TestCase) -> Outcome:
    """Looks an operator up, then compiles expressions."""
    operator, expressions, *_ = test.invocation.args
    assert isinstance(operator, Prim) and isinstance(expressions, Seq)
    if operator.value not in OPERATORS:
        return Outcome("exception", "RuntimeError", f"no operator {operator.value}")
    said = [item.value for item in expressions.items if isinstance(item, Prim) and item.value != "i0"]
    return (
        Outcome("exception", "RuntimeError", f"compiler: op0_{said[0]} was not declared\nCheck failed") if said else OK
    )


OK = Outcome("ok")


def call(operator: str, *expressions: str, more: tuple[Value, ...] = ()) -> TestCase:
    texts = Seq("list", tuple(Prim("str", text) for text in expressions))
    return TestCase(Invocation("a.reindex", (Prim("str", operator), texts, *more)), 0)


@pytest.mark.parametrize("texts", [("",), (">", "i0"), ("i0", "694")])
def test_an_argument_whose_text_is_compiled_is_told(texts: tuple[str, ...]) -> None:
    assert uses_compiled_text(call("min", *texts), reindexed)


def test_texts_of_inner_calls_and_of_what_an_instance_is_called_with_are_the_callers_too() -> None:
    def compiled(test: TestCase) -> Outcome:
        return Outcome("exception", "RuntimeError", f"compiler: {' '.join(texts_of(test.invocation))}\nCheck failed")

    text = Prim("str", "i0 +")
    assert uses_compiled_text(TestCase(Invocation("a.b", (Invocation("a.Code", (text,)),)), 0), compiled)
    assert uses_compiled_text(TestCase(Invocation("a.Code", (), (), Then("__call__", (text,))), 0), compiled)


def test_a_name_that_is_looked_up_is_none() -> None:
    def mistaken(test: TestCase) -> Outcome:
        operator = test.invocation.args[0]
        assert isinstance(operator, Prim)
        if operator.value == TEXT:
            return Outcome("exception", "RuntimeError", "no such operator")
        return Outcome("exception", "RuntimeError", "compiler: op0_rcount was not declared\nCheck failed")

    assert not uses_compiled_text(call("mean"), mistaken)


def test_without_any_text_nothing_is_executed() -> None:
    def never(test: TestCase) -> Outcome:
        raise AssertionError(test)

    assert not uses_compiled_text(TestCase(Invocation("a.b", (Prim("int", 1),), (("c", Seq("list", ())),)), 0), never)


@pytest.mark.parametrize(
    ("texts", "said", "left"),
    [
        (("std::abs(x)",), "no such mode: std::abs(x)", "no such mode: …"),
        (("long", "longer"), "neither long nor longer", "neither … nor …"),
        (("sum",), "a sum of std::vector", "a sum of std::vector"),
    ],
)
def test_what_is_repeated_of_the_callers_text_is_not_the_librarys(texts: tuple[str, ...], said: str, left: str) -> None:
    """Words of less than four letters stay: they are in many messages."""
    assert without_given(call(*texts), Outcome("exception", "ValueError", said)).text == left
