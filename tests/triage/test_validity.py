"""Tests of validity: documentation and the library's own messages decide; a guess is called unknown."""

from __future__ import annotations

import pytest

from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.records import BugRow
from fuzz_core.triage.assess import DocumentationRuling, Validity, goes_alone, validity

MUTATED = TestCase(Invocation("torch.f"), 0, rules=("Mutate a Value",))
TRACED = MUTATED._replace(rules=())
HOLDS = DocumentationRuling(True, "groups >= 1", "docstring of torch.f")
BROKEN = DocumentationRuling(False, "num_bins is at least 1", "op definition of F")


def bug(
    test: TestCase = MUTATED, outcome: Outcome | None = None, kind: str = "crash", minimised: bool = False
) -> BugRow:
    happened = outcome or Outcome("signal", "SIGFPE")
    return BugRow(1, "t", "", "", "torch.f", "crash", kind, test, "", happened, 3, 3, 1, "", minimised, "open")


def said(text: str, kind: str = "exception", name: str = "RuntimeError") -> BugRow:
    return bug(outcome=Outcome(kind, name, text), kind="internal-error")


def test_a_traced_call_is_valid() -> None:
    assert validity(bug(TRACED)).status == "valid"
    assert "documentation" in validity(bug(TRACED)).reason
    assert "simpler" in validity(bug(TRACED, minimised=True)).reason


def test_a_program_whose_blocks_work_is_valid_and_a_block_that_was_changed_need_not_be() -> None:
    judged = validity(bug(MUTATED._replace(program="torch.f()\n"), kind="internal-error"))
    assert (judged.status, judged.reason) == ("valid", "a model program; each of its blocks works alone")
    assert validity(bug(TRACED._replace(rules=("AR",)))).status == "unknown"


@pytest.mark.parametrize("kind", ["wrong-result", "nonfinite", "wrong-metadata", "slow", "leak"])
def test_what_the_plain_call_accepts_is_valid(kind: str) -> None:
    assert validity(bug(kind=kind)).status == "valid"


def test_a_violated_constraint_decides_with_its_text() -> None:
    for found in (bug(TRACED), bug(kind="wrong-result")):
        judged = validity(found, [lambda _: None, lambda _: HOLDS, lambda _: BROKEN])
        assert judged.status == "invalid"
        assert judged.reason == "documented: num_bins is at least 1 (op definition of F)"


def test_constraints_that_hold_speak_where_nothing_speaks_against_it() -> None:
    assert validity(bug(), [lambda _: HOLDS]).status == "valid"
    assert "groups >= 1" in validity(bug(), [lambda _: HOLDS]).reason
    assert validity(said("complex inputs are not supported"), [lambda _: HOLDS]).status == "invalid"


def test_constraints_that_leave_an_argument_open_prove_nothing() -> None:
    judged = validity(bug(), [lambda _: HOLDS._replace(untold=("input", "axis")), lambda _: HOLDS])
    assert judged == ("unknown", "the documented constraints hold, but say too little about input, axis")


def test_words_of_a_mode_on_trial_make_nothing_invalid() -> None:
    refused = said("refuses what cpu accepts: ValueError: Shape must be rank 1 but is rank 0")
    assert validity(refused).status == "invalid"
    assert validity(refused._replace(oracle="differential", kind="inconsistent")).status == "unknown"


def test_rules_see_the_test_case() -> None:
    seen: list[TestCase] = []
    validity(bug(), [lambda test: seen.append(test)])
    assert seen == [MUTATED]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'Check failed: (Deprecated(), GetNodeAttr(n, "ksize", &k)) is OK (INVALID_ARGUMENT: ksize is too large)',
            "ksize is too large",
        ),
        (
            'false INTERNAL ASSERT FAILED at "/b/A.cpp":2, please report a bug to PyTorch. Unrecognized dtype: UInt16',
            "Unrecognized dtype: UInt16",
        ),
    ],
)
def test_the_librarys_own_words_make_it_invalid(text: str, words: str) -> None:
    judged = validity(said(text, "signal", "SIGABRT"))
    assert (judged.status, judged.reason) == ("invalid", f"the library's own words: {words}")


@pytest.mark.parametrize(
    "found",
    [
        bug(),
        said("Check failed: dtype() == expected_dtype (9 vs. 6) int8 expected, got int64", "signal", "SIGABRT"),
        said("F0000 00:00:17.0 16 png_io.cc:357] 'image' Must be non NULL\n@ 0x7 f()", "signal", "SIGABRT"),
        said('x must be defined INTERNAL ASSERT FAILED at "/b/A.cpp":2, please report a bug to PyTorch.'),
        bug(outcome=Outcome("signal", "SIGSEGV", "UserWarning: sparse layouts are not supported everywhere")),
    ],
)
def test_anything_else_is_unknown(found: BugRow) -> None:
    assert validity(found).status == "unknown"


@pytest.mark.parametrize(
    ("kind", "status", "text", "alone"),
    [
        ("wrong-result", "valid", "other values", True),
        ("wrong-result", "unknown", "other values", True),
        ("wrong-result", "invalid", "other values", False),
        ("inconsistent", "valid", "refuses what cpu accepts: no", True),
        ("inconsistent", "valid", "accepts what cpu refuses: no", False),
        ("bounds", "valid", "p = 2, documented: at most 1", False),
        ("crash", "valid", "", True),
        ("crash", "unknown", "", False),
        ("hang", "unknown", "", True),
        ("out-of-bounds", "valid", "other values", True),
        ("out-of-bounds", "unknown", "other values", False),
        ("out-of-bounds", "invalid", "other values", False),
    ],
)
def test_documentation_and_missing_checks_never_go_out_alone(kind: str, status: str, text: str, alone: bool) -> None:
    found = bug(kind=kind, outcome=Outcome("ok", text=text))
    assert goes_alone(found, Validity(status, "")) is alone


NODE = "'{{node DiagPart}} = DiagPart[T=DT_INT32](x)' with input shapes: []."


@pytest.mark.parametrize(
    ("test", "refusal", "alone"),
    [
        (MUTATED, f"ValueError: Input must have even and non-zero rank for {NODE}", False),
        (TRACED, f"ValueError: Input must have even and non-zero rank for {NODE}", True),
        (MUTATED, "ValueError: The value must be even", True),
    ],
)
def test_a_call_that_a_graph_alone_refuses_by_its_shapes_does_not_go_out_alone(
    test: TestCase, refusal: str, alone: bool
) -> None:
    outcome = Outcome("exception", "ValueError", f"refuses what cpu accepts: {refusal}")
    found = bug(test._replace(invocation=Invocation("tf.f")), outcome, "inconsistent")
    assert goes_alone(found, validity(found)) is alone
