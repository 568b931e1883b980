"""Examinations beside a fuzz: the order in which they begin, and the status of duplicates that come later."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fuzz_core.campaign.engine import CallEngine, fuzz_and_examine
from fuzz_core.campaign.examination import HANG, PACE_AFTER, Desk
from fuzz_core.campaign.examiner import Examination, TriageOptions
from fuzz_core.campaign.fuzz import FuzzOptions
from fuzz_core.campaign.session import Session, Watch
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.store.records import FindingRow, NewBug
from fuzz_core.triage.cluster import Symptom


class Examiners:
    """Examinations that wait for `may_end`; each of them then confirms a bug."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = threading.Event()

    def examine(self, group: tuple[FindingRow, ...]) -> Examination:
        finding = group[0]
        self.begun.append(finding.api)
        self.may_end.wait(30)
        verdict, outcome = finding.verdict, finding.outcome
        text = f"{finding.api}: {verdict.kind}"
        bug = NewBug(text, finding.api, verdict.oracle, verdict.kind, finding.test, "", outcome, 5, 5, True)
        return Examination(finding, "confirmed", "", 5, 5, bug)


@pytest.fixture
def session(fakelib_session: Session) -> Session:
    fakelib_session.workers = 2
    fakelib_session.store.start_run("fakelib-1", 0, {})
    return fakelib_session


@pytest.fixture
def desk(session: Session) -> Iterator[Desk]:
    with Desk(session, TriageOptions()) as desk:
        yield desk


@pytest.fixture
def examiners(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Examiners]:
    examiners = Examiners()
    monkeypatch.setattr(desk.examiner, "examine", examiners.examine)
    yield examiners
    examiners.may_end.set()


def found(session: Session, name: str, kind: str = "crash", number: int = 0, said: str = "") -> None:
    test = TestCase(Invocation(f"fakelib.{name}", (prim(number),)), 0)
    outcome = Outcome("exception", "RuntimeError", said) if said else Outcome("exception", "SystemError", name)
    outcome = Outcome("timeout", "1 s") if kind == HANG else outcome
    session.store.add_finding("fakelib-1", 1, test, Verdict("crash", kind, "cpu: it"), outcome)


def settled(desk: Desk, examiners: Examiners) -> None:
    examiners.may_end.set()
    while desk.step(fuzzing=True):
        threading.Event().wait(0.01)


def test_the_first_finding_has_an_examiner_while_the_fuzz_goes_on(
    session: Session, desk: Desk, examiners: Examiners
) -> None:
    assert not desk.step(fuzzing=True)
    found(session, "scale")
    desk.read()
    assert desk.step(fuzzing=True) and desk.running == 1
    for number in range(20):
        found(session, f"f{number}")
    desk.read()
    # A fuzz keeps one of two workers, however long the queue is; without a fuzz, all workers examine.
    assert desk.step(fuzzing=True) and desk.running == 1
    assert desk.step() and desk.running == 2


def test_a_look_alike_of_a_settled_finding_joins_its_bug(session: Session, desk: Desk, examiners: Examiners) -> None:
    found(session, "scale", number=1)
    desk.read()
    desk.step(fuzzing=True)
    settled(desk, examiners)
    found(session, "scale", number=2)
    desk.read()
    settled(desk, examiners)
    assert examiners.begun == ["fakelib.scale"]
    assert [row.status for row in session.store.findings("fakelib-1")] == ["confirmed", "duplicate"]
    assert [bug.findings for bug in session.store.bugs()] == [2]


def test_look_alikes_of_settled_findings_leave_their_places_to_others(
    session: Session, desk: Desk, examiners: Examiners
) -> None:
    found(session, "scale", number=1)
    found(session, "add", number=1)
    examiners.may_end.set()
    desk.finish()
    for name in ("scale", "add", "other"):
        found(session, name, number=2)
    desk.finish()
    assert examiners.begun.count("fakelib.other") == 1
    assert not session.store.pending_findings("fakelib-1")


def test_a_group_waits_for_one_under_way_that_looks_like_it(session: Session, desk: Desk, examiners: Examiners) -> None:
    for name, said in (("a", "the heap of blocks is broken"), ("b", "the heap of blocks is broken"), ("c", "no rank")):
        found(session, name, "internal-error", said=said)
    desk.read()
    assert desk.step() and desk.running == 2
    settled(desk, examiners)
    assert set(examiners.begun[:2]) == {"fakelib.a", "fakelib.c"} and examiners.begun[2:] == ["fakelib.b"]
    assert len(session.store.bugs()) == 3


def test_a_bug_that_looks_like_a_known_one_needs_no_interpreter_and_vouches_for_no_other(desk: Desk) -> None:
    one, other = (
        Symptom("fakelib-1", f"fakelib.{api}: {said}", f"fakelib.{api}", "internal-error", outcome)
        for api, said in (("a", "the heap of blocks is broken"), ("b", "the heap of blocks is torn"))
        for outcome in [Outcome("exception", "RuntimeError", said)]
    )
    third = one._replace(api="fakelib.c", outcome=Outcome("exception", "RuntimeError", "a heap with blocks is torn"))
    assert not desk.examiner.known.has(one)
    desk.examiner.know(one)
    assert desk.examiner.known.has(one) and desk.examiner.known.has(other)
    desk.examiner.know(other)
    assert not desk.examiner.known.has(third)


def test_hangs_share_all_examiners_once_nothing_else_waits(session: Session, desk: Desk, examiners: Examiners) -> None:
    for name in ("a", "b", "c"):
        found(session, name, HANG)
    desk.read()
    assert desk.step() and desk.running == 2


def test_hangs_have_one_examiner_and_wait_for_the_others(session: Session, desk: Desk, examiners: Examiners) -> None:
    for name in ("a", "b", "c"):
        found(session, name, HANG)
    found(session, "d")
    desk.read()
    assert desk.step() and desk.running == 2
    while len(examiners.begun) < 2:
        threading.Event().wait(0.01)
    assert "fakelib.d" in examiners.begun


def test_a_hang_that_needs_a_further_turn_lets_others_come_first(
    session: Session, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[str] = []

    def examine(group: tuple[FindingRow, ...]) -> Examination | None:
        turns.append(group[0].api)
        again = group[0].verdict.kind == HANG and turns.count(group[0].api) < 3
        return None if again else Examination(group[0], reason="none")

    monkeypatch.setattr(desk.examiner, "examine", examine)
    session.workers = 1
    found(session, "a", HANG)
    found(session, "b", HANG)
    desk.finish()
    assert turns == ["fakelib.a", "fakelib.b"] * 3
    assert desk.report.settled == {"rejected": 2}


def test_waiting_hangs_end_a_fuzz_early_enough_for_their_turns(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    session.clock = lambda: now

    def examine(group: tuple[FindingRow, ...]) -> Examination:
        return Examination(group[0], reason="none")

    with Desk(session, TriageOptions(deadline=100.0)) as desk:
        monkeypatch.setattr(desk.examiner, "examine", examine)
        for number in range(PACE_AFTER):
            found(session, f"quick{number}")
        desk.read()
        while desk.step():
            threading.Event().wait(0.01)
        for number in range(4):
            found(session, f"still{number}", HANG)
        desk.read()
        assert not desk.is_full
        now = 60.0
        assert desk.is_full


class Screen(Watch):
    """A watch that records each line with its phase."""

    def __init__(self) -> None:
        self.now = ""
        self.said: list[tuple[str, str]] = []

    def phase(self, name: str, total: float = 0.0) -> None:
        self.now = name

    def advance(self, done: float, **figures: object) -> None:
        """Ignores the figures."""

    def note(self, text: str) -> None:
        self.said.append((self.now, text))


def test_bugs_are_shown_while_the_fuzz_goes_on(traced_session: Session) -> None:
    screen = Screen()
    session = replace(traced_session, workers=2, watch=screen)
    engine = CallEngine(session, FuzzOptions(patterns=("fakelib.row_sum", "fakelib.scale", "fakelib.add")))
    end = session.clock() + 60.0
    [report] = fuzz_and_examine(engine, TriageOptions(runs=2, timeout=5.0), 1, 60.0, end)
    assert report.bugs
    assert any(phase == "fuzzing" and text.startswith("bug ") for phase, text in screen.said)
