"""Bugs of one build run again on later ones: closed after two clean builds, opened again when they return."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fakebuilds import BROKEN, FAILED, FLAKY, IMPORTS, JUDGED, NONE, OTHER, REFUSES, RIGHT, SCALE, Builds, found
from fakelib_plans import call

from fuzz_core.adapters.dialect import ModeSpec, Way, dialect_of
from fuzz_core.campaign.bench import Bench
from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.history import histories, history, review_statuses
from fuzz_core.campaign.recheck import Rechecked, RecheckOptions, newest_targets, recheck
from fuzz_core.campaign.reproduce import Case, sightings
from fuzz_core.campaign.session import Session
from fuzz_core.ir.constraints import Constraint
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.triage.process import DEFAULT_MEMORY, Processes
from fuzz_core.triage.recheck import summed
from fuzz_core.triage.script import RAISED, render_comparison

OTHER_FAILURE = Outcome("exception", "SystemError", "another one")
ONCE = RecheckOptions(runs=1, timeout=10.0)


class Lab:
    """A store, builds of the library as its targets, and rechecks on them."""

    def __init__(self, session: Session, builds: Builds) -> None:
        self.session = session
        self.store = session.store
        self.builds = builds

    def target(self, version: str, source: str) -> TargetRecord:
        target = self.builds.make(version, source)
        self.store.save_target(target)
        return target

    def recheck(self, target: TargetRecord, options: RecheckOptions = ONCE) -> list[Rechecked]:
        return recheck(replace(self.session, target=target), options).checked

    def one(self, version: str, source: str) -> tuple[str, str, str]:
        """Rechecks the only bug on a new build; returns the check's status, the bug's change, and its new status."""
        (seen,) = self.recheck(self.target(version, source))
        return seen.check.status, seen.turn, seen.status


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    builds = Builds(tmp_path)
    with open_store(tmp_path / "state" / "state.db") as store:
        first = builds.make("1", BROKEN)
        store.save_target(first)
        yield Lab(Session(store, first, tmp_path / "state", workers=1), builds)


def test_a_fix_is_believed_after_two_clean_builds_and_its_return_is_a_regression(lab: Lab) -> None:
    number = found(lab.store, "fakelib-1")
    assert lab.one("2", BROKEN) == ("shown", "", "open")
    assert lab.one("3", RIGHT) == ("clean", "", "open")
    assert lab.one("4", RIGHT) == ("clean", "fixed", "fixed")
    assert lab.one("5", RIGHT) == ("clean", "", "fixed")
    assert lab.one("6", BROKEN) == ("shown", "regression", "open")
    assert histories(lab.store)[number].regression
    assert lab.one("7", RIGHT) == ("clean", "", "open")
    assert lab.one("8", REFUSES) == ("clean", "fixed", "fixed")
    assert not histories(lab.store)[number].regression
    turns = {build.row.version: (build.row.opened, build.fixed, build.regressed) for build in history(lab.store)}
    assert {version: turn for version, turn in turns.items() if any(turn)} == {
        "1": (1, (), ()),
        "3": (0, (number,), ()),
        "6": (0, (), (number,)),
        "7": (0, (number,), ()),
    }


def test_an_api_that_is_gone_is_not_fixed(lab: Lab) -> None:
    found(lab.store, "fakelib-1")
    assert lab.one("2", NONE) == ("unrunnable", "", "open")
    assert lab.one("3", NONE) == ("unrunnable", "", "open")
    assert lab.one("4", RIGHT) == ("clean", "", "open")
    assert lab.one("5", NONE) == ("unrunnable", "", "open")
    assert lab.one("6", RIGHT) == ("clean", "", "open")
    assert lab.one("7", RIGHT) == ("clean", "fixed", "fixed")


def test_one_clean_build_checked_twice_is_one_build(lab: Lab) -> None:
    found(lab.store, "fakelib-1")
    second = lab.target("2", RIGHT)
    assert [lab.recheck(second)[0].status for _ in range(2)] == ["open", "open"]


def test_another_failure_is_no_fix(lab: Lab) -> None:
    found(lab.store, "fakelib-1")
    third = lab.target("3", OTHER)
    (seen,) = lab.recheck(third)
    assert (seen.check.status, seen.check.said) == (
        "changed",
        "fakelib.scale: SystemError: bad argument to internal function",
    )


def test_a_bug_that_shows_itself_now_and_then_is_flaky(lab: Lab, unconfined_scripts: None) -> None:
    found(lab.store, "fakelib-1")
    (seen,) = lab.recheck(lab.target("2", FLAKY), RecheckOptions(runs=4, timeout=10.0))
    assert (seen.check.status, seen.check.hits, seen.check.runs) == ("flaky", 2, 4)


@pytest.mark.parametrize("gone", [True, False])
def test_without_its_own_build_a_fix_is_not_verified(lab: Lab, gone: bool) -> None:
    found(lab.store, "fakelib-1")
    lab.recheck(lab.session.target)
    lab.one("2", RIGHT)
    if gone:
        shutil.rmtree(lab.builds.root / "fakelib-1")
    else:
        (lab.builds.root / "fakelib-1" / "fakelib" / "__init__.py").write_text(RIGHT)
    assert lab.one("3", RIGHT) == ("clean", "unverified", "open")
    assert lab.one("4", RIGHT) == ("clean", "unverified", "open")


def test_an_older_build_says_nothing_of_a_fix(lab: Lab) -> None:
    number = found(lab.store, "fakelib-1")
    lab.one("2", RIGHT)
    lab.one("3", RIGHT)
    assert lab.store.bug(number).status == "fixed"
    assert lab.one("0.9", BROKEN) == ("shown", "", "fixed")
    assert lab.one("1.5", BROKEN) == ("shown", "", "fixed")


def test_the_first_clean_build_that_shows_it_after_all_opens_it_again(lab: Lab) -> None:
    number = found(lab.store, "fakelib-1")
    second = lab.target("2", RIGHT)
    lab.recheck(second)
    lab.one("3", RIGHT)
    (lab.builds.root / "fakelib-2" / "fakelib" / "__init__.py").write_text(BROKEN)
    assert [(seen.turn, seen.status) for seen in lab.recheck(second)] == [("reopened", "open")]
    assert not histories(lab.store)[number].regression


def test_fuzzing_that_finds_a_fixed_bug_again_opens_it(lab: Lab) -> None:
    number = found(lab.store, "fakelib-1")
    lab.one("2", RIGHT)
    lab.one("3", RIGHT)
    lab.target("4", BROKEN)
    again = found(lab.store, "fakelib-4")
    assert lab.store.later_rows() == {again: number}
    assert review_statuses(lab.store) == [number]
    assert review_statuses(lab.store) == []
    assert [bug.status for bug in lab.store.bugs()] == ["open", "open"]
    assert histories(lab.store)[number].regression


def test_a_bug_of_several_builds_is_checked_once_and_all_its_rows_are_closed(lab: Lab) -> None:
    number = found(lab.store, "fakelib-1")
    lab.target("2", BROKEN)
    again = found(lab.store, "fakelib-2")
    assert lab.one("3", RIGHT) == ("clean", "", "open")
    (seen,) = lab.recheck(lab.target("4", RIGHT), RecheckOptions((again,), 1, 10.0))
    assert (seen.bug.id, seen.turn) == (number, "fixed")
    assert [bug.status for bug in lab.store.bugs()] == ["fixed", "fixed"]


def test_known_bugs_are_checked_when_they_are_named(lab: Lab) -> None:
    number = found(lab.store, "fakelib-1")
    lab.store.count_known("reported", number, 1)
    second = lab.target("2", RIGHT)
    assert lab.recheck(second) == []
    (seen,) = lab.recheck(second, RecheckOptions((number,), 1, 10.0))
    assert (seen.check.status, seen.status) == ("clean", "known")


def test_what_was_checked_before_a_stop_is_kept_and_the_rest_comes_first_next_time(lab: Lab) -> None:
    first = found(lab.store, "fakelib-1")
    other = found(lab.store, "fakelib-1", SCALE._replace(seed=2), f"{IMPORTS}1 / 0\n", OTHER_FAILURE)
    second = lab.target("2", RIGHT)
    stopped = replace(lab.session, target=second, stopped=lambda: bool(lab.store.checks()))
    report = recheck(stopped, ONCE)
    assert ([seen.bug.id for seen in report.checked], report.left) == ([first], 1)
    assert [check.bug for check in lab.store.checks()] == [first]
    assert [seen.bug.id for seen in lab.recheck(second)] == [other, first]


def test_nothing_begins_after_the_deadline(lab: Lab) -> None:
    found(lab.store, "fakelib-1")
    late = replace(ONCE, deadline=lab.session.clock())
    report = recheck(replace(lab.session, target=lab.target("2", RIGHT)), late)
    assert (report.checked, report.left) == ([], 1)


def test_a_build_that_does_not_import_says_nothing(lab: Lab) -> None:
    found(lab.store, "fakelib-1")
    with pytest.raises(UserError, match="fakelib does not import on fakelib-2: ImportError"):
        lab.recheck(lab.target("2", 'raise ImportError("libfake.so")'))
    assert lab.store.checks() == []


def test_the_newest_build_is_told_by_version_and_then_by_when_it_was_made(lab: Lab) -> None:
    found(lab.store, "fakelib-1")
    versions = ("3.0.dev20260102", "3.0.dev20260103+b", "3.0.dev20260103+a", "2.9", "no version")
    for day, version in enumerate(versions, 1):
        lab.store.save_target(TargetRecord(str(day), "", "fakelib", version, "", {}, f"2026-02-0{day}"))
    assert [target.version for target in newest_targets(lab.store)] == ["3.0.dev20260103+a"]


def test_another_spelling_of_the_signature_is_no_change_where_the_own_build_spells_it_so_too(lab: Lab) -> None:
    found(lab.store, "fakelib-1", outcome=OTHER_FAILURE)
    assert [seen.check.status for seen in lab.recheck(lab.session.target)] == ["shown"]
    assert lab.one("2", BROKEN) == ("shown", "", "open")
    assert lab.one("3", OTHER) == ("changed", "", "open")


@pytest.mark.parametrize(("fixed", "reported", "note"), [(False, [], ""), (True, [1], "bug 1 is back: ")])
def test_a_finding_of_a_bug_of_an_earlier_build_is_told_only_if_it_was_fixed(
    lab: Lab, fixed: bool, reported: list[int], note: str
) -> None:
    number = found(lab.store, "fakelib-1")
    for version in ("2", "3") if fixed else ():
        lab.one(version, RIGHT)
    notes: list[str] = []
    fourth = lab.target("4", BROKEN)
    lab.store.add_finding(fourth.key, lab.store.start_run(fourth.key, 1, {}), SCALE, JUDGED, FAILED)
    session = replace(lab.session, target=fourth)
    session.watch.note = notes.append  # type: ignore[method-assign]
    report = examine(session, TriageOptions(bug_seconds=60.0, runs=1, timeout=10.0))
    assert (report.bugs, dict(report.settled)) == (reported, {"confirmed": 1})
    assert [each[: len(note)] for each in notes] == [note] * len(reported)
    assert (lab.store.later_rows(), lab.store.bug(number).status) == ({2: number}, "open")


MIRROR = ModeSpec(script=Way("assert {actual} == {expected}", lambda source, tensor, seed: source))
DIFFERS = Verdict("differential", "inconsistent", "mirror: accepts what cpu refuses: SystemError")


def test_two_sides_that_both_miss_the_api_do_not_agree(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    fakelib = dialect_of("fakelib")
    monkeypatch.setattr(type(fakelib), "modes", {"mirror": MIRROR})
    script = render_comparison(SCALE, "mirror", fakelib, check=RAISED.replace("lambda: {actual}", "lambda: 1"))
    found(lab.store, "fakelib-1", script=script, outcome=Outcome("ok", text="accepts"), verdict=DIFFERS)
    assert [seen.check.status for seen in lab.recheck(lab.session.target)] == ["shown"]
    both = render_comparison(SCALE, "mirror", fakelib, check=RAISED)
    found(lab.store, "fakelib-1", SCALE._replace(seed=2), both, verdict=DIFFERS._replace(detail="mirror: other"))
    statuses = {seen.bug.id: seen.check.status for seen in lab.recheck(lab.target("2", NONE))}
    assert statuses == {1: "shown", 2: "unrunnable"}
    statuses = {seen.bug.id: seen.check.status for seen in lab.recheck(lab.target("3", RIGHT))}
    assert statuses == {1: "clean", 2: "clean"}


RULED = Constraint("fakelib.scale", "by", "minimum", (0.0,), "must not be negative", "docstring")
TAKEN = Verdict("bounds", "bounds", 'documented: by = `-1.0`, documented: "must not be negative" (docstring)')


def test_what_no_script_shows_is_replayed(lab: Lab) -> None:
    gone = TestCase(Invocation("fakelib.gone"), 1)
    slow = Verdict("performance", "slow", "cpu@float16: slower than float32")
    half = TestCase(call("scale", np.ones(3), 0.5), 1)
    for test, verdict in ((half, slow), (gone, slow), (SCALE, TAKEN)):
        found(lab.store, "fakelib-1", test, "", Outcome("exception", "RuledOut", "by = `-1.0`"), verdict)
    lab.store.save_constraints("fakelib-1", [RULED])
    statuses = {seen.bug.id: seen.check.status for seen in lab.recheck(lab.target("2", RIGHT))}
    assert statuses == {1: "clean", 2: "unrunnable", 3: "shown"}


class Dying(Bench):
    """A bench whose scripts die in `place`; it counts how often a debugger is asked for the place."""

    place = ""
    asked = 0

    def run(self, script: str, kind: str, seconds: float | None = None, memory_bytes: int = DEFAULT_MEMORY) -> Outcome:
        return Outcome("signal", "SIGSEGV")

    def with_frames(self, outcome: Outcome, script: str) -> Outcome:
        self.asked += 1
        return outcome._replace(frames=(self.place, "caller"))


@pytest.mark.parametrize(("place", "status"), [("kernel", "shown"), ("elsewhere", "changed")])
def test_where_it_dies_is_asked_once(lab: Lab, place: str, status: str) -> None:
    crash = Verdict("crash", "crash", "cpu: SIGSEGV")
    number = found(
        lab.store, "fakelib-1", outcome=Outcome("signal", "SIGSEGV", "", ("kernel", "caller")), verdict=crash
    )
    dying = Dying(lab.session.target, Processes(), 10.0)
    dying.place = place
    check = summed(sightings(dying, Case(lab.store.bug(number), crash), 3))
    assert (check.status, check.runs, dying.asked) == (status, 3, 1)
    assert check.said == f"fakelib.scale: SIGSEGV in {place} < caller"
