"""Scripts of graphs that are made smaller: what they are compared with stands in them."""

from __future__ import annotations

from fuzz_core.adapters.dialect import LIBRARIES
from fuzz_core.campaign.examining import TriageOptions, examine
from fuzz_core.campaign.session import Session
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.modelgen.gandalf.scripts import RESULT, Expected, asserting
from fuzz_core.oracles.contract import oracle_of

BEGINNING = ["import fakelib", "", "x = 2", "unused = fakelib.__name__", "x = x + 3"]


def test_what_is_left_out_leaves_the_wrong_result_as_it_is(fakelib_session: Session) -> None:
    store, target = fakelib_session.store, fakelib_session.target.key
    program = asserting(BEGINNING, "x", RESULT, Expected((), 1.0, 0.5, "two others"))
    outcome = Outcome("ok", text=f"{RESULT}\ntwo others")
    verdict = oracle_of("differential").judge({LIBRARIES: outcome}, fakelib_session.dialect)
    run = store.start_run(target, 0, {})
    test = TestCase(Invocation("fakelib.add"), 0, program=program)
    store.add_finding(target, run, test, verdict, outcome, "graph")
    examine(fakelib_session, TriageOptions(runs=1))
    (bug,) = store.bugs()
    assert "x = 2\n" in bug.script and "x = x + 3\n" in bug.script
    assert "unused" not in bug.script and "assert found == expected" in bug.script
