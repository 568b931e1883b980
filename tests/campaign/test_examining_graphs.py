"""Scripts of minimised graphs: a script states the expected result itself."""

from __future__ import annotations

from fuzz_core.adapters.dialect import LIBRARIES
from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.session import Session
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.modelgen.gandalf.scripts import RESULT, Expected, asserting
from fuzz_core.oracles.contract import oracle_of

BEGINNING = ["import fakelib", "", "x = 2", "unused = fakelib.__name__", "x = x + 3"]


def examined(session: Session, program: str) -> str:
    """Examines a program that other libraries contradict, and returns the bug's script."""
    store, target = session.store, session.target.key
    outcome = Outcome("ok", text=f"{RESULT}\ntwo others")
    verdict = oracle_of("differential").judge({LIBRARIES: outcome}, session.dialect)
    test = TestCase(Invocation("fakelib.add"), 0, program=program)
    store.add_finding(target, store.start_run(target, 0, {}), test, verdict, outcome, "graph")
    examine(session, TriageOptions(runs=1))
    (bug,) = store.bugs()
    return bug.script


def test_what_is_left_out_leaves_the_wrong_result_as_it_is(fakelib_session: Session) -> None:
    script = examined(fakelib_session, asserting(BEGINNING, "x", RESULT, Expected((), 1.0, 0.5, "two others")))
    assert "x = 2\n" in script and "x = x + 3\n" in script
    assert "unused" not in script and "assert found == expected" in script


def test_what_is_left_out_leaves_the_data_of_a_layer_even_where_others_give_the_same_wrong_result(
    fakelib_session: Session,
) -> None:
    layer = ["class Layer: weight = 0.25", "layer = Layer()", "layer.weight = 0.75", "unused = Layer()"]
    program = asserting([*layer, "x = layer.weight // 1"], "x", RESULT, Expected((), 1.0, 0.5, "two others"))
    script = examined(fakelib_session, program)
    assert "layer.weight = 0.75" in script
    assert "unused" not in script


def test_of_a_wrong_shape_the_data_of_a_layer_goes(fakelib_session: Session) -> None:
    layer = ["class Layer: shape = (3,)", "layer = Layer()", "layer.weight = 0.75"]
    script = examined(fakelib_session, asserting(layer, "layer", RESULT, Expected((), 0.0, 0.0, "others", (2,))))
    assert "weight" not in script and "expected = (2,)" in script
