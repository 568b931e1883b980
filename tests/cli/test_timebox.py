"""Rounds of single apis: the time that examining leaves of a time-box is fuzzed in."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from commands import Cli

from fuzz_core.campaign import engine
from fuzz_core.campaign.engine import CallEngine, MocoEngine, Round, fuzz_and_examine
from fuzz_core.campaign.examination import TriageReport
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.listener import FuzzReport
from fuzz_core.campaign.moco.engine import MocoReport
from fuzz_core.campaign.moco.plot import MocoOptions
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.watch import Watch
from fuzz_core.cli.commands.fuzz import require_tests
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.errors import UserError
from fuzz_core.store.statefile import open_store

Phase = tuple[str, float, float | None]
Box = Callable[..., tuple[CallEngine, list[Phase]]]


class Notes(Watch):
    """A watch that keeps its notes."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        self.told.append(text)


@pytest.fixture
def box(fakelib_session: Session, monkeypatch: pytest.MonkeyPatch) -> Box:
    """An hour in which each phase takes its given time and records its name, its start and that time."""

    def worked(
        starting: float = 10.0, examining: float = 100.0, left: int = 0, hangs: int = 0, grown: bool = True
    ) -> tuple[CallEngine, list[Phase]]:
        now, phases = [0.0], []

        def fuzzed(_: Session, options: FuzzOptions, __: object) -> FuzzReport:
            assert options.seconds is not None and options.examining is not None
            phases.append((f"fuzz {options.seed}", now[0], options.seconds))
            now[0] += options.seconds
            return FuzzReport(run=len(phases), tests=10, seconds=options.seconds - starting)

        def models(_: Session, programs: object, knowledge: object, options: MocoOptions, __: object) -> MocoReport:
            assert options.seconds is not None
            phases.append((f"grow {options.seed}", now[0], options.seconds))
            now[0] += options.seconds
            if not grown:
                raise UserError("no model program for fakelib", "write one")
            return MocoReport(run=len(phases), seconds=options.seconds)

        def examined(_: Session, __: TriageOptions, ___: object, further: bool) -> TriageReport:
            phases.append(("minimise" if further else "examine", now[0], None))
            now[0] += examining
            return TriageReport(left=left, hangs=hangs)

        for name, phase in {"fuzz": fuzzed, "fuzz_models": models, "examine": examined}.items():
            monkeypatch.setattr(engine, name, phase)
        monkeypatch.setattr(engine, "knowledge_of", lambda *_: None)
        monkeypatch.setattr(engine, "seeds", lambda *_: [])
        monkeypatch.setattr(engine, "hindrance", lambda _, __, seconds: "too short" if seconds < 100 else "")
        session = replace(fakelib_session, watch=Notes(), clock=lambda: now[0])
        calls = CallEngine(session, FuzzOptions(), MocoEngine(session, MocoOptions(seed=1), []), 0.2)
        fuzz_and_examine(calls, TriageOptions(), 1, 3600.0, 3600.0)
        return calls, phases

    return worked


def test_each_round_has_a_seed_and_models_have_their_share_while_it_is_long_enough(box: Box) -> None:
    worked, phases = box()
    first, *_ = fuzzes = [phase for phase in phases if phase[0].startswith("fuzz")]
    assert [when for _, when, _ in fuzzes] == pytest.approx([0.0, 2260.0, 3164.0])
    assert [seconds for *_, seconds in fuzzes] == pytest.approx([1728.0, 643.2, 261.6])
    assert first[0] == "fuzz 1" and len({name for name, *_ in fuzzes}) == 3
    assert [phase[0] for phase in phases if phase[0].startswith("grow")] == ["grow 1", "grow 1"]
    # Bugs are minimised to the end in the time that no round of fuzzing wants.
    assert [phase[0] for phase in phases].index("minimise") == len(phases) - 1
    assert worked.report.tests == 30 and worked.left_out == ""
    assert worked.grown is not None and worked.grown.seconds == pytest.approx(432.0 + 160.8)


def test_no_further_round_for_a_start_that_would_take_much_of_it(box: Box) -> None:
    assert [phase[0] for phase in box(starting=300.0)[1]] == ["fuzz 1", "grow 1", "examine", "minimise"]


def test_no_further_round_where_findings_wait(box: Box) -> None:
    assert [phase[0] for phase in box(left=1)[1]] == ["fuzz 1", "grow 1", "examine", "minimise"]


def test_hangs_that_wait_end_no_rounds(box: Box) -> None:
    assert [phase[0] for phase in box(left=3, hangs=3)[1]] == [phase[0] for phase in box()[1]]
    assert [phase[0] for phase in box(left=4, hangs=3)[1]] == ["fuzz 1", "grow 1", "examine", "minimise"]


def test_what_cannot_grow_is_tried_once_and_apis_have_the_time_then(box: Box) -> None:
    worked, phases = box(grown=False)
    assert worked.left_out == "no model program for fakelib" and worked.grown is None
    assert [phase[0] for phase in phases].count("grow 1") == 1
    assert [seconds for name, _, seconds in phases if name.startswith("fuzz")][1:] == pytest.approx([804.0, 261.6])


def test_rounds_are_runs_of_their_own_and_one_report(cli: Cli, traced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "rounds", lambda _, seed, *__: [Round(seed), Round(5)])
    done = cli("fuzz", "--target", "fakelib-1", "--state", traced, "--tests-count", 300, "--seed", 4, "--json")
    assert done.code == 0, done
    with open_store(traced / "state.db", read_only=True) as store:
        runs = store.runs()
    assert [run.seed for run in runs] == [4, 5]
    fuzzed, triage = done.json["fuzz"], done.json["triage"]
    assert fuzzed["tests"] == sum(run.summary["tests"] for run in runs) and fuzzed["run"] == runs[-1].id
    assert fuzzed["kept"] == sum(run.summary["kept"] for run in runs) == sum(triage["settled"].values()) > 0


def test_figures_of_two_runs_add_up() -> None:
    first = FuzzReport(
        run=1, tests=10, kept=1, seconds=2.0, classes=3, apis=2, outcomes=Counter(ok=10), growth=[(1.0, 5, 2, 0, 1)]
    )
    later = FuzzReport(
        run=2, tests=20, seconds=3.0, classes=4, apis=2, outcomes=Counter(ok=20), growth=[(1.0, 8, 4, 0, 0)]
    )
    later.count("f", 3.0, 20)
    first.add(later)
    assert (first.run, first.tests, first.seconds, first.classes, first.apis) == (2, 30, 5.0, 4, 2)
    assert first.outcomes == {"ok": 30} and first.spent == {"f": (3.0, 20)} and first.rate == 6.0
    assert first.growth == [(1.0, 5, 2, 0, 1), (3.0, 18, 4, 0, 1)]


def test_the_last_line_counts_the_apis_that_were_tested() -> None:
    report = FuzzReport(apis=399, tests=2455, seconds=10.0)
    report.count("f", 3.0, 2455)
    report.count("g", 0.1, 0)
    assert report.headline.startswith("2,455 tests of 1 of 399 apis in 10 s")
    assert report.summary()["tested_apis"] == 1


def test_a_round_that_does_not_come_is_explained(box: Box) -> None:
    worked, _ = box(left=21)
    watch = worked.sessions[0].watch
    assert isinstance(watch, Notes) and watch.told == ["no further round of fuzzing: 21 findings wait to be examined"]


def test_a_time_box_without_a_test_names_the_least_sensible_time(fakelib_session: Session) -> None:
    with pytest.raises(UserError) as raised:
        require_tests(fakelib_session, Settings(time=5.0), {"fuzz": {"tests": 0, "start_up": 4.1}})
    assert raised.value.problem.endswith("in 5 s, although there are apis to fuzz: starting the library took 4.1 s")
    assert raised.value.remedy == "give --time 40s or more"
    with pytest.raises(UserError, match=r"starting the library took 60\.0 s") as raised:
        require_tests(fakelib_session, Settings(time=60.0), {"models": {"tests": 0}})
    assert raised.value.remedy == "give --time 480s or more"
    require_tests(fakelib_session, Settings(time=5.0), {"fuzz": {"tests": 1, "start_up": 4.1}})
    require_tests(replace(fakelib_session, stopped=lambda: True), Settings(), {"fuzz": {"tests": 0}})


def test_a_fuzz_that_ends_early_says_why(traced_session: Session) -> None:
    watch = Notes()
    # A hundred seconds of its clock are one real second; waiting findings ask for half of the time.
    session = replace(traced_session, watch=watch, clock=lambda: time.monotonic() * 100)
    fuzz(session, FuzzOptions(seconds=1000.0, examining=-500.0))
    (told,) = [each for each in watch.told if each.startswith("fuzzing ended")]
    assert re.fullmatch(r"fuzzing ended after \d+ of 1000 s: (the time-box is over|\d+ findings wait, .*)", told)
