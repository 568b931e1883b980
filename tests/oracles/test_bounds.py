"""Tests of constraints, of their verdicts on calls, and of the documentation as a mode that refuses calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nightfuzz_fakelib.adapter import Adapter
from nightfuzz_fakelib.dialect import Dialect
from strategies import values

from fuzz_core.ir.constraints import KINDS, Constraint, Documentation, replaced
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, Tensor, TestCase, Then, Value, prim
from fuzz_core.worker.execution import Execution

API = "lib.f"
RATE = [Constraint(API, "p", kind, (bound,), "must be in [0, 1]", "docstring") for kind, bound in
        (("minimum", 0.0), ("maximum", 1.0))]  # fmt: skip
MODE = Constraint(API, "mode", "choices", ("sum", "mean"), "either 'sum' or 'mean'", "docstring")
PARAMS = {API: ("x", "p", "mode")}
X = Tensor("float32", (2, 2))


def numbers(*items: float) -> Seq:
    return Seq("tuple", tuple(map(prim, items)))


CASES: list[tuple[str, tuple[Any, ...], Value, bool | None]] = [
    ("minimum", (0,), prim(0), True),
    ("minimum", (0,), prim(-1), False),
    ("minimum", (0,), prim(-0.5), None),
    ("minimum", (0.0,), prim(-0.5), False),
    ("minimum", (0.0,), prim(-1), False),
    ("minimum", (0.0,), prim(float("nan")), None),
    ("minimum", (0.0,), prim(False), None),
    ("minimum", (0.0,), prim(None), None),
    ("minimum", (0.0,), X, None),
    ("above", (0.0,), prim(0), False),
    ("above", (0.0,), numbers(1, 2), True),
    ("above", (0.0,), numbers(1, 0), False),
    ("above", (0.0,), numbers(), None),
    ("maximum", (1.0,), prim(1.0), True),
    ("maximum", (1.0,), prim(float("inf")), False),
    ("below", (1.0,), prim(1.0), False),
    ("below", (1.0,), prim(0.5), True),
    ("choices", ("sum",), prim("SUM"), True),
    ("choices", ("sum",), prim("min"), False),
    ("choices", ("sum",), prim(None), None),
    ("dtypes", ("int32",), Ref("dtype", "float32"), False),
    ("dtypes", ("int32",), Ref("name", "lib.x"), None),
    ("dtypes", ("float32",), X, True),
    ("dtypes", ("int32",), X, False),
    ("dtypes", ("int32",), X._replace(container="ndarray"), None),
    ("length", (1,), numbers(), False),
    ("length", (1,), numbers(1), True),
    ("length", (1,), prim(1), None),
    ("lengths", (1, 2), numbers(1, 2, 3), False),
    ("lengths", (1, 2), numbers(1), True),
    ("rank", (2,), X, True),
    ("rank", (1,), X, False),
    ("least-rank", (3,), X, False),
    ("least-rank", (2,), X, True),
]


@pytest.mark.parametrize(("kind", "bounds", "value", "holds"), CASES)
def test_what_a_constraint_says_of_a_value(
    kind: str, bounds: tuple[Any, ...], value: Value, holds: bool | None
) -> None:
    assert Constraint(API, "p", kind, bounds, "words", "docstring").holds(value) is holds


def test_every_kind_is_tried_both_ways() -> None:
    assert {(kind, holds) for kind, _, _, holds in CASES} >= {(kind, way) for kind in KINDS for way in (True, False)}


constraints = st.one_of(
    st.builds(
        Constraint,
        st.just(API),
        st.just("p"),
        st.sampled_from(["dtypes", "choices"]),
        st.lists(st.text(max_size=5), min_size=1, max_size=3).map(tuple),
        st.text(max_size=9),
        st.just("docstring"),
    ),
    st.builds(
        Constraint,
        st.just(API),
        st.just("p"),
        st.sampled_from([kind for kind in KINDS if kind not in ("dtypes", "choices")]),
        st.tuples(st.integers(-9, 9) | st.floats(-9, 9)),
        st.text(max_size=9),
        st.just("schema"),
    ),
)


@given(constraints)
def test_a_constraint_survives_json(constraint: Constraint) -> None:
    assert Constraint.from_json(json.loads(json.dumps(constraint))) == constraint


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        ["lib.f", "p", "minimum", [], "x", "docstring"],
        ["lib.f", "p", "minimum", ["1"], "x", "docstring"],
        ["lib.f", "p", "minimum", [True], "x", "docstring"],
        ["lib.f", "p", "minimum", [float("nan")], "x", "docstring"],
        ["lib.f", "p", "choices", [1], "x", "docstring"],
        ["lib.f", "p", "forbidden", ["x"], "x", "docstring"],
        ["lib.f", "p", "choices", ["x"], "x", "rumour"],
    ],
)
def test_what_is_no_constraint_is_refused(data: Any) -> None:
    with pytest.raises(CodecError):
        Constraint.from_json(data)


@given(constraints, values)
def test_any_value_can_be_looked_at_and_what_is_legal_keeps_to_the_documentation(c: Constraint, value: Value) -> None:
    documentation = Documentation([c], {API: ("p",)})
    call = Invocation(API, (value,))
    said = documentation.broken(call)
    assert (said is not None) == (c.holds(value) is False)
    for legal in documentation.legal(said) if said else ():
        assert c.holds(legal)
        assert documentation.broken(replaced(call, said.value, legal)) is None  # type: ignore[union-attr]


def test_arguments_are_known_by_position_and_by_keyword() -> None:
    documentation = Documentation([*RATE, MODE], PARAMS)
    for call in (Invocation(API, (X, prim(2.0))), Invocation(API, (X,), (("p", prim(2.0)),))):
        said = documentation.broken(call)
        assert said is not None
        assert (said.constraint, said.value) == (RATE[1], prim(2.0))
    assert [s.holds for s in documentation.said(Invocation(API, (X, prim(0.5), prim("sum"))))] == [True, True, True]
    assert list(documentation.said(Invocation("lib.other", (X, prim(2.0))))) == []


def test_values_that_are_legal_instead_fit_all_that_is_documented_of_the_argument() -> None:
    documentation = Documentation([*RATE, MODE], PARAMS)
    said = documentation.broken(Invocation(API, (X, prim(2.0))))
    assert said is not None
    assert documentation.legal(said) == [prim(0.0), prim(1.0), prim(0.5)]
    said = documentation.broken(Invocation(API, (X, numbers(0.5, -1.0))))
    assert said is not None
    assert numbers(0.5, 0.0) in documentation.legal(said)


class Documented(Adapter):
    """An adapter of one api `lib.f(x, p, mode)` that handles p as its attribute says, and of one class."""

    class Kept:
        """Takes anything, and may refuse it later."""

        def __init__(self, p: float) -> None:
            self.p = p

        def __call__(self, x: Any) -> Any:
            return x * self.p

    def __init__(self, function: Any) -> None:
        self.function = function

    def ref(self, ref: Ref, device: str) -> Any:
        return self.Kept if ref.name == "lib.Kept" else self.function

    def differences(self, reference: Any, other: Any, relation: str = "values") -> str:
        return "" if (reference == other).all() else "differs"


def verdicts(function: Any, *calls: Invocation) -> list[str]:
    kept = [c._replace(api="lib.Kept") for c in RATE]
    documentation = Documentation([*RATE, MODE, *kept], {**PARAMS, "lib.Kept": ("p",)})
    execution = Execution(Documented(function), Dialect(), ["crash", "bounds"], documentation=documentation)
    judged = [execution.judge(TestCase(call, 1))[1] for call in calls]
    return [verdict.detail for found in judged for verdict, _ in found]


def refusing(x: Any, p: float = 0.5, mode: str = "sum") -> Any:
    if not 0 <= p <= 1:
        raise ValueError("p must be in [0, 1]")
    return x * p


def lenient(x: Any, p: float = 0.5, mode: str = "sum") -> Any:
    return x * p


def ignoring(x: Any, p: float = 0.5, mode: str = "sum") -> Any:
    return x + 1


BAD, GOOD = Invocation(API, (X, prim(2.0))), Invocation(API, (X, prim(0.5)))


def test_what_is_ruled_out_and_taken_is_reported_with_argument_value_and_words() -> None:
    assert verdicts(lenient, BAD) == ['documented: p = `2.0`, documented: "must be in [0, 1]" (docstring)']


def test_what_is_refused_or_legal_is_clean() -> None:
    assert verdicts(refusing, BAD, GOOD) == []
    assert verdicts(lenient, GOOD) == []


def test_an_argument_that_is_ignored_is_clean() -> None:
    assert verdicts(ignoring, BAD, Invocation(API, (X,), (("mode", prim("min")),))) == []


def test_nothing_is_expected_of_a_call_on_an_empty_tensor() -> None:
    assert verdicts(lenient, Invocation(API, (Tensor("float32", (0, 2)), prim(2.0)))) == []


def test_an_object_that_is_only_made_may_still_refuse_and_one_that_is_used_has_not() -> None:
    made = Invocation("lib.Kept", (prim(2.0),))
    assert verdicts(lenient, made) == []
    assert len(verdicts(lenient, made._replace(then=Then("__call__", (X,))))) == 1


def test_without_documentation_the_oracle_has_nothing_to_say() -> None:
    execution = Execution(Documented(lenient), Dialect(), ["bounds"])
    assert execution.judge(TestCase(BAD, 1))[1] == []


def test_a_string_that_is_taken_for_another_is_reported() -> None:
    def forgiving(x: Any, p: float = 0.5, mode: str = "sum") -> Any:
        return x + (mode == "mean")

    [detail] = verdicts(forgiving, Invocation(API, (X,), (("mode", Prim("str", "min")),)))
    assert detail.startswith("documented: mode = `'min'`")
