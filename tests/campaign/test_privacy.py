"""Privacy: it follows the cause of a death, not the address that the smallest input happened to hit."""

from __future__ import annotations

from typing import NamedTuple, cast

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.privacy import worst_suspicion
from fuzz_core.campaign.reproduce import Attempt, Bench
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Fill, Invocation, Prim, Tensor, TestCase, Value
from fuzz_core.store.records import FindingRow
from fuzz_core.worker.stack import NULL_PAGE, OVERFLOW, WILD

DIALECT = dialect_of("tensorflow")
NULL = Outcome("signal", "SIGSEGV", "", ("tf::Kernel", NULL_PAGE))
FAR = Outcome("signal", "SIGSEGV", "", ("tf::Kernel", WILD))
EMPTY, FULL = Tensor("float32", (0,), Fill()), Tensor("float32", (2,), Fill())


def call(*args: Value) -> TestCase:
    return TestCase(Invocation("tf.f", args), 0, rules=("a rule",))


class Machine(NamedTuple):
    """A bench that runs scripts: one with a text of `deaths` dies that way, and every other script returns."""

    deaths: dict[str, Outcome]
    dialect: object = DIALECT

    def run(self, script: str, kind: str) -> Outcome:
        return next((died._replace(frames=()) for text, died in self.deaths.items() if text in script), Outcome("ok"))

    def with_frames(self, outcome: Outcome, script: str) -> Outcome:
        return next((died for text, died in self.deaths.items() if text in script), outcome)


def graded(found: TestCase, small: TestCase, outcome: Outcome, deaths: dict[str, Outcome]) -> str:
    verdict = Verdict("crash", "crash", "cpu: died")
    finding = FindingRow(1, "tf-1", 1, "tf.f", found, verdict, outcome, "pending", "", 0, 0, None, "")
    return worst_suspicion(cast("Bench", Machine(deaths)), Attempt(finding, small), outcome)


def test_the_input_as_it_was_found_makes_a_bug_private() -> None:
    reason = graded(call(FULL, Prim("int", 77)), call(EMPTY, Prim("int", 1)), NULL, {"77": FAR})
    assert "SIGSEGV" in reason
    assert reason.endswith("on the input as it was found")


def test_the_smallest_input_with_its_empty_tensors_filled_makes_a_bug_private() -> None:
    """The input as found is empty too; only the filled variant shows a read of foreign memory."""
    small = call(EMPTY)
    reason = graded(small, small, NULL, {"constant": FAR})
    assert "with its empty tensors filled" in reason


def test_a_null_pointer_on_every_input_is_public() -> None:
    assert graded(call(FULL), call(EMPTY), NULL, {"tf.f": NULL}) == ""
    assert graded(call(FULL), call(EMPTY), NULL, {}) == ""


def test_a_heap_that_the_filled_input_corrupts_makes_a_bug_private() -> None:
    heap = Outcome("signal", "SIGABRT", "free(): invalid pointer")
    assert "heap" in graded(call(FULL), call(EMPTY), NULL, {"tf.f": heap})


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("signal", "SIGSEGV", "", ("tf::Kernel", OVERFLOW)),
        Outcome("signal", "SIGABRT", "Check failed: n > 0"),
        Outcome("exception", "InternalError", "no"),
    ],
)
def test_only_a_fault_in_the_null_page_is_looked_at_again(outcome: Outcome) -> None:
    assert graded(call(FULL), call(EMPTY), outcome, {"tf.f": FAR}) == ""


def test_what_the_smallest_input_shows_by_itself_needs_no_further_run() -> None:
    assert "SIGSEGV" in graded(call(EMPTY), call(EMPTY), FAR, {})
