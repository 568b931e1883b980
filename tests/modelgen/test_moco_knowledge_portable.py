"""Tests of the parts of foreign facts that go into programs: constants, and names of the library's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fuzz_core.ir.constraints import Constraint
from fuzz_core.modelgen.moco.facts import Facts, Origin, Parameter, ParameterRelation
from fuzz_core.modelgen.moco.knowledge.file import portable

ROOTS = {"lib"}
SOUND = [
    "1",
    "-0.5",
    "float('inf')",
    "(3, 3)",
    "[1, None]",
    "'same'",
    "lib.float32",
    "lib.nn.Linear(8, 8, bias=False)",
    "{'wide': lib.nn.Linear(8, 8)}",
    "slice(1, 2)",
    "bool",
]
UNSOUND = [
    "relu",
    "os.system('id')",
    "__import__('os')",
    "lib._C.dangerous()",
    "lib.__dict__",
    "lib.f(open('x'))",
    "[x for x in (1,)]",
    "lambda: 1",
    "lib.f()[0]",
    "1, evil=2",
    "1); evil(",
    "lib",
]


def facts(text: str) -> Facts:
    parameter = Parameter(name="p", default=text, seen=("2", text))
    return Facts(api="lib.nn.Gate", parameters=(parameter,), example={"p": text}, inputs=((4, 4),))


@pytest.mark.parametrize("text", SOUND)
def test_values_and_names_of_the_library_stay(text: str) -> None:
    assert portable(facts(text), ROOTS) == facts(text)


@pytest.mark.parametrize("text", UNSOUND)
def test_nothing_else_gets_into_a_program(text: str) -> None:
    found = portable(facts(text), ROOTS)
    assert found == Facts(api="lib.nn.Gate", parameters=(Parameter(name="p", seen=("2",)),))


@pytest.mark.parametrize("api", ["os.system", "lib", "lib.f(1)", "lib._f", "library.f", "lib.f;x", ""])
def test_an_api_of_somebody_else_is_none(api: str) -> None:
    assert portable(Facts(api=api), ROOTS) is None


@pytest.mark.parametrize("name", ["p=1, q", "*args", ""])
def test_names_of_parameters_are_names(name: str) -> None:
    other = Facts(api="lib.f", parameters=(Parameter(name=name),), example={name: "1"}, inputs=((1,),))
    assert portable(other, ROOTS) == Facts(api="lib.f")


def test_calls_relations_and_types_are_read() -> None:
    good, bad = (
        ParameterRelation(parameters=("p",), expression=text, origin=Origin(source="llm")) for text in ("p > 1", "f()")
    )
    told = Facts(api="lib.f", relations=(good, bad), dtypes=("float32", "evil"), takes=("((4, 8), 'float32')",))
    assert portable(told, ROOTS) == told.model_copy(update={"relations": (good,), "dtypes": ("float32",)})
    called = told.model_copy(update={"takes": ("evil()",), "inputs": ((1,),)})
    assert portable(called, ROOTS) == Facts(api="lib.f", relations=(good,), dtypes=("float32",))


def test_no_sequence_without_an_end_is_asked_for() -> None:
    listed = Constraint("lib.f", "p", "lengths", (2, 1 << 40), "", "llm")
    long = Facts(api="lib.f", parameters=(Parameter(name="p", constraints=(listed,)),))
    assert portable(long, ROOTS) == Facts(api="lib.f", parameters=(Parameter(name="p"),))


@pytest.mark.parametrize(
    "change", [{"bounds": [float("inf")]}, {"bounds": ["1"]}, {"kind": "evil"}, {"source": "evil"}, {"bounds": []}]
)
def test_a_constraint_of_another_form_is_refused(change: dict[str, object]) -> None:
    sound = {"api": "", "argument": "p", "kind": "minimum", "bounds": [0.0], "text": "", "source": "llm"}
    assert Parameter.model_validate({"name": "p", "constraints": [[*sound.values()]]}).bounds
    with pytest.raises(ValidationError, match="not a constraint"):
        Parameter.model_validate({"name": "p", "constraints": [[*(sound | change).values()]]})


@given(st.text(max_size=40) | st.text("lib.nf()[]'1,=_ ", max_size=40))
def test_what_is_portable_stays_so(text: str) -> None:
    found = portable(facts(text), ROOTS)
    assert found is not None and portable(found, ROOTS) == found
