"""The progress of a run: exact on record when the run ends, and about right when it is killed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import fuzz_core
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.session import EVERY, Run, Session


class EngineFigures:
    """Figures that stand for an engine."""

    tests = 0
    seconds = 0.0

    def at(self, seconds: float, tests: int) -> EngineFigures:
        self.seconds, self.tests = seconds, tests
        return self

    def summary(self) -> dict[str, Any]:
        return {"made": self.tests}


def on_record(session: Session) -> list[tuple[str, int, float]]:
    return [(row.status, row.tests, row.seconds) for row in session.store.runs()]


def test_how_far_a_run_has_come_is_told_now_and_then(fakelib_session: Session) -> None:
    run, figures = Run(fakelib_session, 1, {}), EngineFigures()
    for seconds, told in ((EVERY / 2, 0), (EVERY, EVERY), (EVERY * 1.5, EVERY), (EVERY * 3, EVERY * 3)):
        run.tell(figures.at(seconds, int(seconds)))
        assert on_record(fakelib_session) == [("running", int(told), told)]
    run.end(figures.at(EVERY * 3 + 1, 31))
    assert on_record(fakelib_session) == [("done", 31, EVERY * 3 + 1)]
    assert fakelib_session.store.run(run.number).summary == {"made": 31}


def test_an_interrupted_run_has_its_figures_too(fakelib_session: Session) -> None:
    run = Run(replace(fakelib_session, stopped=lambda: True), 1, {})
    run.end(EngineFigures().at(2.5, 7))
    assert on_record(fakelib_session) == [("interrupted", 7, 2.5)]


def test_fuzzing_is_counted_among_what_was_done_with_the_build(traced_session: Session) -> None:
    reports = [fuzz(traced_session, FuzzOptions(seconds=None, tests=60, seed=seed)) for seed in (1, 2)]
    (build,) = traced_session.store.builds()
    assert (build.runs, build.tests) == (2, sum(report.tests for report in reports))
    assert build.seconds == sum(report.seconds for report in reports) > 0


def test_runs_are_put_on_record_in_one_place() -> None:
    root = Path(fuzz_core.__file__).parent
    words = re.compile(r"\.(start_run|checkpoint_run|finish_run)\(")
    found = {str(file.relative_to(root)) for file in root.rglob("*.py") if words.search(file.read_text())}
    assert found == {"campaign/session.py"}
