"""Examinations beside a fuzz: the order in which they begin, and the status of duplicates that come later."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from fuzz_core.campaign.engine import CallEngine, fuzz_and_examine
from fuzz_core.campaign.examination import PACE_AFTER, ExaminationQueue, examine
from fuzz_core.campaign.examiner import Examination, TriageOptions
from fuzz_core.campaign.finding_groups import HANG, HANG_RESERVE
from fuzz_core.campaign.fuzz import FuzzOptions
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.watch import Watch
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase, prim
from fuzz_core.store.records import FindingRow, NewBug
from fuzz_core.triage.place import Symptom


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
def queue(session: Session) -> Iterator[ExaminationQueue]:
    with ExaminationQueue(session, TriageOptions()) as queue:
        yield queue


@pytest.fixture
def examiners(queue: ExaminationQueue, monkeypatch: pytest.MonkeyPatch) -> Iterator[Examiners]:
    examiners = Examiners()
    monkeypatch.setattr(queue.examiner, "examine", examiners.examine)
    yield examiners
    examiners.may_end.set()


def found(session: Session, name: str, kind: str = "crash", number: int = 0, said: str = "") -> None:
    test = TestCase(Invocation(f"fakelib.{name}", (prim(number),)), 0)
    outcome = Outcome("exception", "RuntimeError", said) if said else Outcome("exception", "SystemError", name)
    outcome = Outcome("timeout", "1 s") if kind == HANG else outcome
    session.store.add_finding("fakelib-1", 1, test, Verdict("crash", kind, "cpu: it"), outcome)


def settled(queue: ExaminationQueue, examiners: Examiners) -> None:
    examiners.may_end.set()
    while queue.step(fuzzing=True):
        threading.Event().wait(0.01)


def test_the_seconds_of_examiners_are_in_the_figures_of_the_last_run(
    session: Session, queue: ExaminationQueue, examiners: Examiners
) -> None:
    seconds = itertools.count()
    session.clock = lambda: float(next(seconds))
    session.store.finish_run(1, "done", {"tests": 3})
    found(session, "scale")
    examiners.may_end.set()
    examine(session, TriageOptions(), queue)
    figures = session.store.run(1).summary
    assert figures["tests"] == 3 and figures["examining"] >= 1.0
    examine(session, TriageOptions(), queue)
    assert session.store.run(1).summary == figures


def test_the_first_finding_has_an_examiner_while_the_fuzz_goes_on(
    session: Session, queue: ExaminationQueue, examiners: Examiners
) -> None:
    assert not queue.step(fuzzing=True)
    found(session, "scale")
    queue.read()
    assert queue.step(fuzzing=True) and queue.running == 1
    for number in range(20):
        found(session, f"f{number}")
    queue.read()
    # A fuzz keeps one of two workers, however long the queue is; without a fuzz, all workers examine.
    assert queue.step(fuzzing=True) and queue.running == 1
    assert queue.step() and queue.running == 2


def test_a_look_alike_of_a_settled_finding_joins_its_bug(
    session: Session, queue: ExaminationQueue, examiners: Examiners
) -> None:
    found(session, "scale", number=1)
    queue.read()
    queue.step(fuzzing=True)
    settled(queue, examiners)
    found(session, "scale", number=2)
    queue.read()
    settled(queue, examiners)
    assert examiners.begun == ["fakelib.scale"]
    assert [row.status for row in session.store.findings("fakelib-1")] == ["confirmed", "duplicate"]
    assert [bug.findings for bug in session.store.bugs()] == [2]


def test_look_alikes_of_settled_findings_leave_their_places_to_others(
    session: Session, queue: ExaminationQueue, examiners: Examiners
) -> None:
    found(session, "scale", number=1)
    found(session, "add", number=1)
    examiners.may_end.set()
    queue.finish()
    for name in ("scale", "add", "other"):
        found(session, name, number=2)
    queue.finish()
    assert examiners.begun.count("fakelib.other") == 1
    assert not session.store.pending_findings("fakelib-1")


def test_a_group_waits_for_one_under_way_that_looks_like_it(
    session: Session, queue: ExaminationQueue, examiners: Examiners
) -> None:
    for name, said in (("a", "the heap of blocks is broken"), ("b", "the heap of blocks is broken"), ("c", "no rank")):
        found(session, name, "internal-error", said=said)
    queue.read()
    assert queue.step() and queue.running == 2
    settled(queue, examiners)
    assert set(examiners.begun[:2]) == {"fakelib.a", "fakelib.c"} and examiners.begun[2:] == ["fakelib.b"]
    assert len(session.store.bugs()) == 3


def test_a_bug_that_looks_like_a_known_one_needs_no_interpreter_and_vouches_for_no_other(
    queue: ExaminationQueue,
) -> None:
    one, other = (
        Symptom("fakelib-1", f"fakelib.{api}: {said}", f"fakelib.{api}", "internal-error", outcome)
        for api, said in (("a", "the heap of blocks is broken"), ("b", "the heap of blocks is torn"))
        for outcome in [Outcome("exception", "RuntimeError", said)]
    )
    third = one._replace(api="fakelib.c", outcome=Outcome("exception", "RuntimeError", "a heap with blocks is torn"))
    assert not queue.examiner.known.has(one)
    queue.examiner.know(one)
    assert queue.examiner.known.has(one) and queue.examiner.known.has(other)
    queue.examiner.know(other)
    assert not queue.examiner.known.has(third)


def test_hangs_share_all_examiners_once_nothing_else_waits(
    session: Session, queue: ExaminationQueue, examiners: Examiners
) -> None:
    for name in ("a", "b", "c"):
        found(session, name, HANG)
    queue.read()
    assert queue.step() and queue.running == 2


def test_hangs_have_one_examiner_and_wait_for_the_others(
    session: Session, queue: ExaminationQueue, examiners: Examiners
) -> None:
    for name in ("a", "b", "c"):
        found(session, name, HANG)
    found(session, "d")
    queue.read()
    assert queue.step() and queue.running == 2
    while len(examiners.begun) < 2:
        threading.Event().wait(0.01)
    assert "fakelib.d" in examiners.begun


def test_a_time_out_on_a_tensor_that_no_memory_holds_is_settled_without_a_run(
    session: Session, queue: ExaminationQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue.examiner.bench, "fork", None)
    expanded = Tensor("int64", (1, 2**31), Fill(), strides=(0, 0))
    test = TestCase(Invocation("fakelib.scale", (expanded,)), 0)
    session.store.add_finding("fakelib-1", 1, test, Verdict("crash", HANG, "cpu: it"), Outcome("timeout", "1 s"))
    queue.finish()
    [row] = session.store.findings("fakelib-1")
    assert (row.status, row.reason) == ("rejected", "an expanded tensor has more places than memory holds")


def test_a_hang_that_needs_a_further_turn_lets_others_come_first(
    session: Session, queue: ExaminationQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[str] = []

    def examine(group: tuple[FindingRow, ...]) -> Examination | None:
        turns.append(group[0].api)
        again = group[0].verdict.kind == HANG and turns.count(group[0].api) < 3
        return None if again else Examination(group[0], reason="none")

    monkeypatch.setattr(queue.examiner, "examine", examine)
    session.workers = 1
    found(session, "a", HANG)
    found(session, "b", HANG)
    queue.finish()
    assert turns == ["fakelib.a", "fakelib.b"] * 3
    assert queue.report.settled == {"rejected": 2}


def test_waiting_hangs_end_a_fuzz_early_enough_for_their_turns(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    session.clock = lambda: now

    def examine(group: tuple[FindingRow, ...]) -> Examination:
        return Examination(group[0], reason="none")

    with ExaminationQueue(session, TriageOptions(deadline=100.0)) as queue:
        monkeypatch.setattr(queue.examiner, "examine", examine)
        assert queue.spare == math.inf
        for number in range(PACE_AFTER):
            found(session, f"quick{number}")
        queue.read()
        while queue.step():
            threading.Event().wait(0.01)
        found(session, "still", HANG)
        queue.read()
        # A hang of 25 seconds for two examiners.
        assert not queue.is_full and queue.spare == 87.5
        now = 90.0
        assert queue.is_full


def test_many_waiting_hangs_leave_the_most_of_the_time_to_the_fuzz(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sweep finds more hangs than a run can examine: they have their share of the time, and the others wait."""
    now, turns = 0.0, 0
    session.clock = lambda: now

    def examine(group: tuple[FindingRow, ...]) -> Examination | None:
        nonlocal now, turns
        turns += group[0].verdict.kind == HANG
        now += 10.0 if group[0].verdict.kind == HANG else 0.0
        return Examination(group[0], reason="none")

    with ExaminationQueue(session, TriageOptions(deadline=200.0)) as queue:
        session.workers = 1
        monkeypatch.setattr(queue.examiner, "examine", examine)
        for number in range(PACE_AFTER):
            found(session, f"quick{number}")
        queue.goes_on = True
        queue.finish()
        for number in range(9):
            found(session, f"still{number}", HANG)
        queue.read()
        assert queue.spare == 200.0 - HANG_RESERVE * 200.0
        queue.finish()
        assert turns == HANG_RESERVE * 200.0 / 10.0
        assert queue.spare == 200.0 - now, "hangs have had their share"
        queue.goes_on = False
        queue.finish()
        assert turns == 9


class Screen(Watch):
    """A watch that records each line with its phase."""

    def __init__(self) -> None:
        self.now = ""
        self.said: list[tuple[str, str]] = []

    def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None:
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
