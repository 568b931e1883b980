"""Two builds of one library: real differences are found, minimised and confirmed; noise is not reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakeedits import edited

from fuzz_core.campaign.comparison import CompareOptions, CompareReport, by_cause, compare
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.checks import Change
from fuzz_core.store.records import TargetRecord

OLD = {
    "VERSION": "1.2.3",
    # The last of equal elements instead of the first, and another rounding: the library promises neither.
    "return x.argmax()": "return x.size - 1 - x.ravel()[::-1].argmax()",
    "np.float32(1)": "np.float32(1 + 2**-22)",
    # Changes for the worse, neutral changes, and an improvement.
    "    if 0 in x.shape:": "    if False:",
    "    return a + b": "    return a + b + 1",
    'raise ValueError(f"axis': 'raise IndexError(f"axis',
    "    if how < 0:\n        sys.exit(7)\n    return how": "    return float(how)",
    "    if by < 0:": "    if by > 100:",
}
NEW = {"VERSION": "1.3.0rc1"}


@pytest.fixture
def build(tmp_path: Path, fakelib_python: str) -> Callable[[str, dict[str, str]], TargetRecord]:
    """Makes a build of fakelib with these texts replaced."""
    return lambda name, edits: edited(tmp_path, name, edits, fakelib_python)


def compared(session: Session, old: TargetRecord, new: TargetRecord, most: int) -> tuple[Session, CompareReport]:
    for record in (old, new):
        session.store.save_target(record)
    on_new = Session(session.store, new, session.state_dir, workers=2)
    trace(on_new, TraceOptions(sources=["docs"]))
    return on_new, compare(on_new, old, new, CompareOptions(seed=3, most=most, runs=2))


def test_what_differs_is_found_and_noise_is_not(
    fakelib_session: Session, build: Callable[[str, dict[str, str]], TargetRecord]
) -> None:
    old, new = build("old", OLD), build("new", NEW)
    session, report = compared(fakelib_session, old, new, 2500)
    found = {(change.api.removeprefix("fakelib."), change.kind) for change in report.changes}
    assert found == {
        ("row_sum", "regression"),
        ("scale", "regression"),
        ("scale", "fixed"),
        ("add", "changed"),
        ("concat", "changed"),
        ("fail", "changed"),
    }
    assert {"random", "indices of equals"} <= set(report.dropped)
    kept = session.store.changes("new", "old")
    assert [change.kind for change in kept] == sorted(
        (change.kind for change in kept), key=["regression", "changed", "fixed"].index
    )
    assert {(c.api, c.kind, c.signature) for c in kept} == {(c.api, c.kind, c.signature) for c in report.changes}
    for change in kept:
        assert change.hits == change.runs == 2
        assert len(change.script.splitlines()) <= 6
        assert session.store.seeds_of(change.test.origin)


def test_garbage_that_every_fork_finds_is_no_change(
    fakelib_session: Session, build: Callable[[str, dict[str, str]], TargetRecord]
) -> None:
    """A value that a process draws before it forks is equal in all its children, and differs in the next process."""
    drawn = {"LARGEST = 2**31": "LARGEST = 2**31\nGARBAGE = os.getpid()", "np.empty(x.shape)": "x * 0.0 + GARBAGE"}
    old, new = (build(name, {**NEW, **drawn}) for name in ("old", "new"))
    _, report = compared(fakelib_session, old, new, 300)
    assert report.changes == []
    assert report.dropped["random"]


def test_two_equal_builds_differ_in_nothing(
    fakelib_session: Session, build: Callable[[str, dict[str, str]], TargetRecord]
) -> None:
    _, report = compared(fakelib_session, build("old", {"VERSION": "1.2"}), build("new", NEW), 1200)
    assert report.tests >= 1200
    assert report.changes == []


def test_a_baseline_is_of_the_same_library(fakelib_session: Session) -> None:
    other = fakelib_session.target._replace(key="torch-1", library="torch")
    with pytest.raises(UserError, match="is a build of torch, but the target"):
        compare(fakelib_session, other, fakelib_session.target, CompareOptions())


def test_one_message_under_many_apis_is_one_cause() -> None:
    def change(api: str, fault: str, after: str = "ok") -> Change:
        test = TestCase(Invocation(api, ()), 0)
        return Change(api, "changed", f"{api}: {fault}", test, "", Outcome("ok"), Outcome(after), 1, 1)

    causes = by_cause([change("a.b", "x"), change("a.c", "x"), change("a.b", "y")])
    assert [[each.api for each in cause] for cause in causes.values()] == [["a.b", "a.c"], ["a.b"]]
    checks = [change("a.b", f"{old} before, now TypeError: no", "exception") for old in ("accepted", "ValueError: no")]
    assert len(by_cause(checks)) == 1
