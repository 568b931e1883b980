"""How many attempts a finding has until it is rejected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuzz_core.campaign import examiner as module
from fuzz_core.campaign.examiner import Examiner, TriageOptions
from fuzz_core.campaign.reproduce import Attempt
from fuzz_core.campaign.session import Session
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.records import FindingRow
from fuzz_core.triage.process import Confirmation

TEST = TestCase(Invocation("fakelib.reserve", ()), 0)
DIED = Verdict("crash", "crash", "cpu: segmentation fault (SIGSEGV)")
FINDING = FindingRow(
    1, "fakelib-1", 1, TEST.invocation.api, TEST, DIED, Outcome("signal", "SIGSEGV"), "pending", "", 0, 0, None, ""
)


class StubbedWay:
    """A strategy whose scripts all end in one outcome, and which counts them."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.runs = 0

    def attempts(self, finding: FindingRow, small: TestCase) -> Iterator[Attempt]:
        tries = ((small, False), (small, True), (TEST._replace(seed=1), True))
        yield from (Attempt(finding, *each) for each in tries)

    def confirm(self, attempt: Attempt, runs: int, alone: bool = False) -> tuple[Confirmation, Verdict]:
        self.runs += 1
        return Confirmation(0, 1, self.outcome), DIED


@pytest.mark.parametrize(
    ("outcome", "runs"),
    [(Outcome("ok"), 5), (Outcome("timeout", "3 s"), 3), (Outcome("oom", "SIGKILL"), 1)],
    ids=["runs", "takes long", "out of memory"],
)
def test_a_script_that_runs_out_of_memory_is_run_once(
    fakelib_session: Session, monkeypatch: pytest.MonkeyPatch, outcome: Outcome, runs: int
) -> None:
    """Three attempts are forked. The two seeded ones have an interpreter each as well, if they end in time."""
    way = StubbedWay(outcome)
    monkeypatch.setattr(module, "strategy", lambda *given: way)
    found = Examiner(fakelib_session, TriageOptions()).confirm(FINDING, TEST)
    assert (found.status, way.runs) == ("rejected", runs)
    assert found.reason.startswith(outcome.kind)
