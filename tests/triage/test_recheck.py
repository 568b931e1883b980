"""Tests of the verdict on runs of a bug's script, together and over builds."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.triage.recheck import (
    CHANGED,
    CLEAN,
    FIXED,
    FLAKY,
    REGRESSED,
    SHOWN,
    UNRUNNABLE,
    Event,
    Mark,
    SingleRun,
    asserted,
    beside_plain,
    by_assertion,
    by_failure,
    by_verdicts,
    events,
    summed,
    why_unrunnable,
    with_own_failure,
)
from fuzz_core.triage.signature import signature

TORCH = dialect_of("torch")
TEST = TestCase(Invocation("torch.linalg.lstsq"), 1)
OK = Outcome("ok")
ASSERT = Outcome("exception", "RuntimeError", "x INTERNAL ASSERT FAILED at f.cpp:7")
SCRIPT = "import torch\n\nx = torch.ones(2)\ntorch.linalg.lstsq(x.mT, torch.fft.rfft(x))\n"


@dataclass
class Bug:
    outcome: Outcome = ASSERT
    oracle: str = "crash"
    kind: str = "internal-error"
    script: str = SCRIPT
    api: str = "torch.linalg.lstsq"
    id: int = 1
    target: str = "torch-1"
    test: TestCase = TEST
    minimised: bool = True
    signature_text: str = field(init=False)

    def __post_init__(self) -> None:
        self.signature_text = signature(self.api, Verdict(self.oracle, self.kind), self.outcome).text


def raised(name: str, text: str, *frames: str) -> Outcome:
    return Outcome("exception", name, text, frames)


def died(name: str, *frames: str, text: str = "") -> Outcome:
    return Outcome("signal", name, text, frames)


@pytest.mark.parametrize(
    ("bug", "outcome", "status"),
    [
        (ASSERT, ASSERT._replace(text="x INTERNAL ASSERT FAILED at f.cpp:99"), SHOWN),
        (ASSERT, raised("RuntimeError", "y INTERNAL ASSERT FAILED at f.cpp:7"), CHANGED),
        (ASSERT, died("SIGSEGV"), CHANGED),
        (ASSERT, OK, CLEAN),
        (ASSERT, raised("ValueError", "expected a positive size"), CLEAN),
        (ASSERT, raised("AttributeError", "module 'torch.linalg' has no attribute 'lstsq'"), UNRUNNABLE),
        (died("SIGSEGV", "f", "g"), died("SIGBUS", "f", "g"), SHOWN),
        (died("SIGSEGV", "f", "g"), died("SIGSEGV", "h", "g"), CHANGED),
        (died("SIGABRT", text="Check failed: a < 7"), died("SIGABRT", text="Check failed: a < 9"), SHOWN),
        (died("SIGABRT", text="free(): invalid pointer"), died("SIGSEGV", text="double free"), SHOWN),
        (Outcome("timeout", "timeout"), Outcome("timeout", "timeout"), SHOWN),
        (Outcome("timeout", "timeout"), OK, CLEAN),
        (raised("TypeError", "no len of 3"), raised("TypeError", "no len of 4"), SHOWN),
        (raised("TypeError", "no len of 3"), raised("TypeError", "no sum of 3"), CLEAN),
        (raised("TypeError", "no len of 3"), raised("ValueError", "no len of 3"), CLEAN),
        (ASSERT, Outcome("oom", "RuntimeError", "out of memory"), CLEAN),
        (ASSERT, Outcome("oom", "SIGKILL"), UNRUNNABLE),
        (ASSERT, Outcome("exit", "3"), UNRUNNABLE),
    ],
)
def test_a_script_that_fails_by_itself(bug: Outcome, outcome: Outcome, status: str) -> None:
    assert by_failure(Bug(bug), outcome, TORCH).status == status


def test_a_signature_that_an_earlier_version_wrote_otherwise_is_the_same() -> None:
    bug = Bug()
    bug.signature_text = "torch.linalg.lstsq: RuntimeError: as it was written once"
    assert by_failure(bug, ASSERT, TORCH).status == SHOWN


@pytest.mark.parametrize(
    ("outcome", "plain", "status"),
    [
        (raised("AssertionError", "not close"), None, SHOWN),
        (OK, OK, CLEAN),
        (ASSERT, OK, CHANGED),
        (died("SIGSEGV"), OK, CHANGED),
        (raised("ValueError", "no 7"), OK, CHANGED),
        (raised("ValueError", "no 7"), raised("ValueError", "no 8"), CLEAN),
        (raised("ValueError", "no 7"), raised("ValueError", "other"), CHANGED),
        (OK, raised("AttributeError", "module 'torch.linalg' has no attribute 'lstsq'"), UNRUNNABLE),
        (raised("AttributeError", "module 'torch' has no attribute 'fft'"), OK, UNRUNNABLE),
    ],
)
def test_a_script_that_asserts(outcome: Outcome, plain: Outcome | None, status: str) -> None:
    bug = Bug(Outcome("ok", text="values differ"), "differential", "wrong-result")
    seen = by_assertion(bug, outcome, TORCH)
    assert (seen if plain is None else beside_plain(seen, plain, SCRIPT)).status == status


DIFFERS = Verdict("performance", "slow", "cuda@float16: slower than float32")


@pytest.mark.parametrize(
    ("found", "first", "status"),
    [
        ([(DIFFERS, OK)], OK, SHOWN),
        ([(DIFFERS._replace(detail="strided@: slower than plain"), OK)], OK, CHANGED),
        ([(Verdict("nonfinite", "nonfinite", "cpu: nan"), OK)], OK, CLEAN),
        ([], OK, CLEAN),
        ([], died("SIGSEGV"), CHANGED),
        ([], Outcome("skipped", "BuildError", "no torch.linalg.lstsq in this target"), UNRUNNABLE),
        ([], raised("TypeError", "lstsq() got an unexpected keyword argument 'driver'"), UNRUNNABLE),
    ],
)
def test_a_test_case_that_is_replayed(found: list[tuple[Verdict, Outcome]], first: Outcome, status: str) -> None:
    bug = Bug(OK, "performance", "slow")
    wanted = signature(bug.api, DIFFERS, OK).text
    assert by_verdicts(bug, found, wanted, first, TORCH).status == status


@pytest.mark.parametrize(
    "outcome",
    [
        raised("AttributeError", "module 'torch.fft' has no attribute 'rfft'. Did you mean: 'rfftn'?"),
        raised("AttributeError", "module 'torch' has no attribute 'linalg'", "torch/__init__.py:__getattr__"),
        raised("AttributeError", "'Tensor' object has no attribute 'mT'"),
        raised("AttributeError", "type object 'Tensor' has no attribute 'mT'"),
        raised("ImportError", "cannot import name 'lstsq' from 'torch.linalg' (/lib/torch/linalg/__init__.py)"),
        raised("ModuleNotFoundError", "No module named 'torch'"),
        raised("NameError", "name 'np' is not defined"),
        raised("SyntaxError", "invalid syntax"),
        raised("TypeError", "lstsq() got an unexpected keyword argument 'driver'"),
        raised("TypeError", "lstsq() missing 1 required positional argument: 'B'"),
        raised("TypeError", "lstsq() takes 1 positional argument but 2 were given"),
        raised("TypeError", "lstsq() takes from 1 to 2 positional arguments but 3 were given"),
        raised("TypeError", "lstsq() takes no arguments"),
        raised("RuntimeError", "This function was deprecated since version 1.9 and is now removed.\n`torch.lstsq` ..."),
    ],
)
def test_what_hinders_a_script(outcome: Outcome) -> None:
    assert why_unrunnable(outcome, SCRIPT)
    assert by_failure(Bug(), outcome, TORCH).status == UNRUNNABLE


@pytest.mark.parametrize(
    "outcome",
    [
        OK,
        raised("AttributeError", "'NoneType' object has no attribute 'shape'"),
        raised("AttributeError", "'Meta' object has no attribute 'mT'", "torch/_refs/__init__.py:lstsq"),
        raised("NameError", "name 'driver' is not defined", "torch/_refs/__init__.py:lstsq"),
        raised("TypeError", "lstsq(): argument 'B' (position 2) must be Tensor, not int"),
        raised("TypeError", "lstsq takes a matrix, not a vector"),
        raised("RuntimeError", "dimension 3 was expected, 2 is removed from it"),
        raised("ValueError", "expected a positive size"),
    ],
)
def test_what_is_an_answer(outcome: Outcome) -> None:
    assert why_unrunnable(outcome, SCRIPT) == ""


def sightings(statuses: str) -> list[SingleRun]:
    names = {"s": SHOWN, "c": CHANGED, "u": UNRUNNABLE, "-": CLEAN}
    return [SingleRun(names[each], Outcome("ok", str(number)), each) for number, each in enumerate(statuses)]


@pytest.mark.parametrize(
    ("runs", "status", "hits", "decisive"),
    [
        ("ss", SHOWN, 2, 0),
        ("-s-", FLAKY, 1, 1),
        ("cs", FLAKY, 1, 1),
        ("us", FLAKY, 1, 1),
        ("-c-", CHANGED, 0, 1),
        ("uc", CHANGED, 0, 1),
        ("-u", UNRUNNABLE, 0, 1),
        ("--", CLEAN, 0, 0),
    ],
)
def test_runs_together(runs: str, status: str, hits: int, decisive: int) -> None:
    check = summed(sightings(runs))
    assert (check.status, check.hits, check.runs, check.outcome.name) == (status, hits, len(runs), str(decisive))


def test_what_the_own_build_says_today_is_the_bug() -> None:
    assert [each.status for each in with_own_failure(sightings("c-c"), SingleRun(CHANGED, OK, "c"))] == [
        SHOWN,
        CLEAN,
        SHOWN,
    ]
    assert with_own_failure(sightings("c-"), SingleRun(CHANGED, OK, "d")) == sightings("c-")
    assert with_own_failure(sightings("--"), SingleRun(CLEAN, OK, "-")) == sightings("--")


ORDER = ("old", "found", "b", "c", "d", "e", "f")
STATUS = {"+": SHOWN, "-": CLEAN, "~": FLAKY, "u": UNRUNNABLE, "c": CHANGED}


def life(marks: str) -> list[tuple[str, str]]:
    """Returns the events after checks such as `b- found+ c-`."""
    return [tuple(each) for each in events("found", ORDER, [Mark(m[:-1], STATUS[m[-1]]) for m in marks.split()])]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("marks", "turns"),
    [
        ("", []),
        ("b-", []),
        ("b- c-", []),
        ("b- found+ b-", []),
        ("b- found+ c-", [(FIXED, "b")]),
        ("b- c- found+", [(FIXED, "b")]),
        ("c- found+ b-", [(FIXED, "b")]),
        ("found+ b- c-", []),
        ("b- found- c-", []),
        ("b- found~ c-", []),
        ("b- found+ c- found-", [(FIXED, "b")]),
        ("b+ c- found+ d-", [(FIXED, "c")]),
        ("b- cu found+ d-", []),
        ("b- cc found+ d-", []),
        ("b- c~ found+ d-", []),
        ("b- cu found+ d- e-", [(FIXED, "d")]),
        ("old- found+ b-", []),
        ("b- found+ d- c+", [(FIXED, "b"), (REGRESSED, "c")]),
        ("b- found+ c- d+", [(FIXED, "b"), (REGRESSED, "d")]),
        ("b- found+ c- d~", [(FIXED, "b"), (REGRESSED, "d")]),
        ("b- found+ c- dc", [(FIXED, "b")]),
        ("b- found+ c- du", [(FIXED, "b")]),
        ("b- found+ c- old+ found+", [(FIXED, "b")]),
        ("c- found+ d- b+", [(FIXED, "c")]),
        ("b- found+ c- b+", []),
        ("b- found+ c- d+ e- f-", [(FIXED, "b"), (REGRESSED, "d")]),
        ("b- found+ c- d+ e- found+ f-", [(FIXED, "b"), (REGRESSED, "d"), (FIXED, "e")]),
    ],
)
def test_the_life_of_a_bug(marks: str, turns: list[tuple[str, str]]) -> None:
    assert life(marks) == turns


@given(st.lists(st.tuples(st.sampled_from(ORDER), st.sampled_from(sorted(STATUS.values()))), max_size=14))
def test_turns_alternate_and_every_fix_has_two_clean_builds_before_it(checks: list[tuple[str, str]]) -> None:
    marks = [Mark(*check) for check in checks]
    turns = events("found", ORDER, marks)
    assert [turn.kind for turn in turns] == [FIXED, REGRESSED, FIXED, REGRESSED, FIXED, REGRESSED][: len(turns)]
    clean = {mark.build for mark in marks if mark.status == CLEAN}
    for turn in turns:
        if turn.kind == FIXED:
            assert turn.build in clean and len(clean & set(ORDER[2:])) >= 2
            assert Mark("found", SHOWN) in marks
        else:
            assert ORDER.index(turn.build) > ORDER.index("b")
    assert all(isinstance(turn, Event) for turn in turns)


def test_the_values_of_a_comparison_are_those_that_its_script_names() -> None:
    found = Outcome("ok", text="192 of 192 elements differ\nfirst at (0, 2): 4.0 against 1.0")
    ran = Outcome("exception", "AssertionError", "expected 1.0, got 2.0")
    assert asserted(found, ran).text == "192 of 192 elements differ\nexpected 1.0, got 2.0"
    blamed = found._replace(text=f"{found.text}\nwrong: vmap, by NumPy")
    assert asserted(blamed, ran).text == "192 of 192 elements differ\nexpected 1.0, got 2.0\nwrong: vmap, by NumPy"
    assert asserted(found, ran._replace(text="")) == found, "an older script names nothing"
    assert asserted(found, Outcome("exception", "ValueError", "no")) == found
