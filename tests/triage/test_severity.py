"""Severity: what may be a security hole is private, and all bugs stand in one order."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.records import BugRow
from fuzz_core.triage.assess import GRADES, STATUSES, Severity, Validity, order, severity, withheld
from fuzz_core.worker.stack import NULL_PAGE, OVERFLOW, WILD

UNKNOWN = Validity("unknown", "")


def bug(kind: str, outcome: Outcome, number: int = 1, api: str = "torch.f") -> BugRow:
    test = TestCase(Invocation(api), 0, rules=("some rule",))
    return BugRow(number, "torch-1", "", "", api, "crash", kind, test, "", outcome, 3, 3, 1, "", True, "open")


def died(name: str, *frames: str, said: str = "") -> BugRow:
    return bug("crash", Outcome("signal", name, said, frames))


@pytest.mark.parametrize(
    "found",
    [
        died("SIGSEGV"),
        died("SIGBUS", "at::native::f"),
        died("SIGSEGV", "at::native::f", WILD),
        died("SIGABRT", said="double free or corruption (out)"),
        died("SIGSEGV", NULL_PAGE, said="malloc(): corrupted top size"),
        died("SIGABRT", said="==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1"),
        bug("internal-error", Outcome("exception", "RuntimeError", "runtime error: index 5 out of bounds for type")),
        bug("out-of-bounds", Outcome("ok")),
        bug("wrong-result", Outcome("ok", text="the result holds uninitialised values")),
    ],
)
def test_suspects_of_touching_foreign_memory_are_private(found: BugRow) -> None:
    judged = severity(found)
    assert judged.private
    assert judged.reason


@pytest.mark.parametrize(
    ("found", "grade"),
    [
        (died("SIGSEGV", "at::native::f", NULL_PAGE), "abort"),
        (died("SIGSEGV", "at::native::f", OVERFLOW), "abort"),
        (died("SIGABRT", said="Check failed: index < size (out-of-bounds)"), "abort"),
        (died("SIGFPE"), "abort"),
        (bug("internal-error", Outcome("exception", "RuntimeError", "INTERNAL ASSERT FAILED")), "internal-error"),
        (bug("internal-error", Outcome("signal", "SIGABRT", "INTERNAL ASSERT FAILED")), "abort"),
        (bug("wrong-result", Outcome("ok", text="3 of 4 elements differ")), "wrong-result"),
        (bug("nonfinite", Outcome("ok")), "wrong-result"),
        (bug("wrong-metadata", Outcome("ok")), "wrong-result"),
        (bug("hang", Outcome("timeout", "timeout")), "hang"),
        (bug("slow", Outcome("ok")), "performance"),
        (bug("leak", Outcome("ok")), "performance"),
        (bug("bounds", Outcome("ok")), "documentation"),
    ],
)
def test_everything_else_has_a_grade(found: BugRow, grade: str) -> None:
    judged = severity(found)
    assert (judged.grade, judged.reason) == (grade, "")


def test_private_then_regressions_then_valid_input_then_the_grade() -> None:
    """From the most urgent to the least."""
    abort = Severity("abort", "", UNKNOWN)
    ranked = [
        Severity("private", "", Validity("invalid", "")),
        Severity("performance", "", Validity("invalid", ""), regression=True),
        Severity("documentation", "", Validity("valid", "")),
        abort,
        Severity("wrong-result", "", UNKNOWN),
        Severity("internal-error", "", UNKNOWN),
        Severity("hang", "", UNKNOWN),
        Severity("abort", "", Validity("invalid", "")),
    ]
    assert sorted(ranked, key=lambda found: found.rank) == ranked


severities = st.builds(
    Severity,
    st.sampled_from(GRADES),
    st.just(""),
    st.sampled_from(STATUSES).map(lambda s: Validity(s, "")),
    st.booleans(),
)


@given(st.lists(severities, max_size=6))
def test_the_order_is_total(found: list[Severity]) -> None:
    rows = [bug("crash", Outcome("signal", "SIGFPE"), number) for number in range(len(found))]
    keys = [order(row, judged) for row, judged in zip(rows, found, strict=True)]
    assert len(set(keys)) == len(keys)
    for (one, key), (other, another) in itertools.combinations(zip(found, keys, strict=True), 2):
        assert (key < another) != (another < key)
        if one.private and not other.private:
            assert key < another


def test_what_looks_like_a_private_cause_is_withheld_too() -> None:
    null = died("SIGSEGV", "at::native::f", NULL_PAGE)._replace(id=1)
    heap = died("SIGABRT", said="free(): invalid pointer")._replace(id=2)
    elsewhere = bug("crash", Outcome("signal", "SIGFPE"), 3, "torch.g")
    assert withheld([null, heap, elsewhere]) == {1, 2}
    assert withheld([null, elsewhere]) == frozenset()
