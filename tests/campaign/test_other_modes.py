"""Deaths in other modes: a dying process reports its death, but not exactly the mode of the test case."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from fuzz_core.adapters.dialect import ModeSpec, Way, dialect_of
from fuzz_core.campaign.bench import Bench
from fuzz_core.campaign.examiner import Examiner, TriageOptions
from fuzz_core.campaign.session import Session
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase
from fuzz_core.oracles.compare import Differential
from fuzz_core.store.records import FindingRow

# A mode that passes an argument without elements, which kills `row_sum`.
EMPTY = ModeSpec(
    script=Way("assert {actual} is not None, {expected}", lambda source, tensor, seed: f"{source}[:0]"), share=0.2
)
CALL = Invocation("fakelib.row_sum", (Tensor("float32", (2, 3), Fill("constant", 1.0, 1.0)),))


@pytest.fixture
def examiner(fakelib_session: Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[Examiner]:
    """An examiner that runs scripts alone and replays no test case."""
    monkeypatch.setattr(type(fakelib_session.dialect), "modes", {"strided": EMPTY})
    with closing(Examiner(fakelib_session, TriageOptions(bug_seconds=1.0, runs=2, timeout=20.0))) as examiner:
        yield examiner


def finding(seed: int, outcome: Outcome) -> FindingRow:
    test = TestCase(CALL, seed)
    verdict = Verdict("crash", "crash", f"cpu: {outcome.name}")
    return FindingRow(1, "fakelib-1", 1, CALL.api, test, verdict, outcome, "pending", "", 0, 0, None, "2026-01-01")


def seed_that(planned: bool) -> int:
    modes = ("cpu", "strided")
    return next(
        s for s in range(100) if bool(Differential().plan(TestCase(CALL, s), modes, dialect_of("fakelib"))) is planned
    )


def test_a_death_is_shown_by_the_mode_that_was_executed(examiner: Examiner) -> None:
    row = finding(seed_that(True), Outcome("signal", "SIGSEGV"))
    seen = examiner.confirm(row, row.test)
    assert (seen.status, seen.hits, seen.runs) == ("confirmed", 2, 2)
    assert seen.bug is not None
    assert (seen.bug.kind, seen.bug.oracle) == ("crash", "crash")
    assert "[:0]" in seen.bug.script and "assert" not in seen.bug.script


@pytest.mark.parametrize(("planned", "kind"), [(False, "signal"), (True, "timeout")])
def test_other_modes_are_asked_for_deaths_that_they_may_have_died(examiner: Examiner, planned: bool, kind: str) -> None:
    row = finding(seed_that(planned), Outcome(kind, "SIGSEGV"))
    assert examiner.confirm(row, row.test).status == "rejected"


HARMLESS = ModeSpec(script=Way("assert {actual} is not None, {expected}", lambda source, tensor, seed: source))


@pytest.mark.parametrize(("said", "interpreters"), [("", 1), ("free(): invalid next size (fast)", 2)])
def test_a_mode_has_an_interpreter_if_the_fault_may_have_been_long_before(
    examiner: Examiner, monkeypatch: pytest.MonkeyPatch, said: str, interpreters: int
) -> None:
    monkeypatch.setattr(type(examiner.session.dialect), "modes", {"strided": HARMLESS._replace(share=0.2)})
    scripts: list[str] = []
    run = Bench.run

    def counted(bench: Bench, script: str, kind: str, *limits: Any, **more: Any) -> Outcome:
        scripts.append(script)
        return run(bench, script, kind, *limits, **more)

    monkeypatch.setattr(Bench, "run", counted)
    row = finding(seed_that(True), Outcome("signal", "SIGABRT" if said else "SIGSEGV", said))
    assert examiner.confirm(row, row.test).status == "rejected"
    assert len(scripts) == interpreters


def test_a_failure_in_a_mode_without_a_script_is_shown_by_one_that_executes_the_same(
    examiner: Examiner, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = {"reference": ModeSpec(run="it", against=""), "strided": EMPTY._replace(run="it", share=0.0)}
    monkeypatch.setattr(type(examiner.session.dialect), "modes", modes)
    row = finding(0, Outcome("exception", "SystemError", "it"))
    row = row._replace(verdict=Verdict("crash", "internal-error", "reference: SystemError"))
    assert examiner.confirm(row, row.test).status == "confirmed"
