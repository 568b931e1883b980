"""Tests of severity: a possible security hole is private, and all bugs stand in one order."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase
from fuzz_core.store.records import BugRow
from fuzz_core.triage.assess import GRADES, STATUSES, Severity, Validity, filled, order, severity, withheld
from fuzz_core.worker.stack import NULL_PAGE, OVERFLOW, WILD

UNKNOWN = Validity("unknown", "")


def bug(kind: str, outcome: Outcome, number: int = 1, api: str = "tf.f") -> BugRow:
    test = TestCase(Invocation(api), 0, rules=("some rule",))
    signature = f"{api}: {outcome.name} {outcome.text}"
    return BugRow(
        number, "tensorflow-1", "", signature, api, "crash", kind, test, "", outcome, 3, 3, 1, "", True, "open"
    )


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
        (died("SIGSEGV", "at::native::f", NULL_PAGE), "crash"),
        (died("SIGSEGV", "at::native::f", OVERFLOW), "crash"),
        (died("SIGABRT", said="Check failed: index < size (out-of-bounds)"), "crash"),
        (died("SIGFPE"), "crash"),
        (bug("internal-error", Outcome("exception", "RuntimeError", "INTERNAL ASSERT FAILED")), "internal-error"),
        (bug("internal-error", Outcome("signal", "SIGABRT", "INTERNAL ASSERT FAILED")), "crash"),
        (bug("wrong-result", Outcome("ok", text="3 of 4 elements differ")), "wrong-result"),
        (bug("nonfinite", Outcome("ok")), "wrong-result"),
        (bug("wrong-metadata", Outcome("ok")), "wrong-metadata"),
        (bug("hang", Outcome("timeout", "timeout")), "hang"),
        (bug("slow", Outcome("ok")), "performance"),
        (bug("leak", Outcome("ok")), "performance"),
        (bug("bounds", Outcome("ok")), "documentation"),
    ],
)
def test_everything_else_has_a_grade(found: BugRow, grade: str) -> None:
    judged = severity(found)
    assert (judged.grade, judged.reason) == (grade, "")


def test_a_read_out_of_bounds_is_told_openly_where_maintainers_want_that_on_bad_input() -> None:
    found = bug("out-of-bounds", Outcome("ok"), api="torch.f")
    assert (severity(found).grade, severity(found).private) == ("out-of-bounds", False)
    traced = found._replace(test=found.test._replace(rules=()))
    assert severity(traced).private


def test_private_then_regressions_then_valid_input_then_the_grade() -> None:
    """The list is ordered from the most urgent bug to the least urgent."""
    abort = Severity("crash", "", UNKNOWN)
    ranked = [
        Severity("private", "", Validity("invalid", "")),
        Severity("performance", "", Validity("invalid", ""), regression=True),
        Severity("documentation", "", Validity("valid", "")),
        abort,
        Severity("wrong-result", "", UNKNOWN),
        Severity("internal-error", "", UNKNOWN),
        Severity("hang", "", UNKNOWN),
        Severity("crash", "", Validity("invalid", "")),
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
    elsewhere = bug("crash", Outcome("signal", "SIGFPE"), 3, "tf.g")
    assert set(withheld([null, heap, elsewhere])) == {1, 2}
    assert withheld([null, elsewhere]) == {}


def test_one_private_death_in_a_kernel_makes_the_others_of_that_kernel_and_api_private() -> None:
    """A common kernel or api makes a death private, in any cluster. Before, four such memory errors were public."""
    far = died("SIGSEGV", "at::native::scatter_kernel", "at::native::a", WILD)._replace(id=1)
    same_kernel = bug("crash", null("at::native::scatter_kernel", "at::native::b", "at::native::c"), 2, "tf.other")
    same_api = bug("crash", null("at::native::unlike"), 3, "tf.f")
    check = bug("internal-error", Outcome("exception", "RuntimeError", "INTERNAL ASSERT FAILED"), 4, "tf.f")
    other = bug("crash", null("at::native::more"), 5, "tf.elsewhere")
    assert withheld([far, same_kernel, same_api, check, other]) == {
        1: "SIGSEGV at an address that is not known to be harmless",
        2: "looks like the cause of bug 1",
        3: "looks like the cause of bug 1",
    }


def test_what_another_input_of_the_bug_has_shown_makes_it_private() -> None:
    found = bug("crash", null("at::native::f"))._replace(suspicion="SIGSEGV, on the input as it was found")
    assert severity(found).private
    assert severity(found).reason == "SIGSEGV, on the input as it was found"


def null(*frames: str) -> Outcome:
    return Outcome("signal", "SIGSEGV", "", (*frames, NULL_PAGE))


def test_filling_leaves_a_call_without_empty_tensors_as_it_is() -> None:
    full = TestCase(Invocation("tf.f", (Tensor("float32", (2, 3)),)), 0)
    assert filled(full) == full
    empty = TestCase(Invocation("tf.f", (Tensor("int64", (0, 3), strides=(3, 1)), Tensor("float32", (0,)))), 0)
    assert [tensor.shape for tensor in filled(empty).invocation.args] == [(2, 3), (2,)]
    assert filled(empty).invocation.args[0].fill == Fill("constant", 0.0, 0.0)


@pytest.mark.parametrize(
    ("api", "rules", "private"),
    [
        ("torch.f", ("a rule",), False),
        # A traced call is no bad input, so its memory errors may be security bugs.
        ("torch.f", (), True),
        ("tf.f", ("a rule",), True),
        ("tf.keras.f", ("a rule",), True),
        ("jittor.f", ("a rule",), True),
        ("other.f", ("a rule",), True),
    ],
)
def test_a_memory_error_on_bad_input_is_told_as_its_maintainers_want(
    api: str, rules: tuple[str, ...], private: bool
) -> None:
    found = died("SIGSEGV", "native::f", WILD)
    found = found._replace(api=api, test=TestCase(Invocation(api), 0, rules=rules))
    assert severity(found).private is private
    assert bool(withheld([found])) is private
