"""Rounds of a time-box: time that an examination leaves is fuzzed in once more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from commands import Cli
from windows import PROGRAM, WINDOW

from fuzz_core.campaign import engine
from fuzz_core.campaign.engine import Round, rounds
from fuzz_core.campaign.session import Session
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.knowledge.file import write
from fuzz_core.store.statefile import open_store

HOUR = 3600.0


class RoundsClock:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def timed(session: Session, took: float) -> list[tuple[float, float, int]]:
    """Returns the start of each round of an hour, its seconds for fuzzing, and its seed.

    Args:
        took: seconds of each examination.
    """
    clock, found = RoundsClock(), []
    session = replace(session, clock=clock)
    for turn in rounds(session, 1, HOUR, HOUR):
        assert turn.seconds is not None and turn.examining is not None
        assert clock.now + turn.seconds + turn.examining == pytest.approx(HOUR)
        found.append((clock.now, turn.seconds, turn.seed))
        clock.now += turn.seconds + took
    return found


def test_rounds_go_on_until_too_little_is_left(fakelib_session: Session) -> None:
    first, second, third = timed(fakelib_session, 100.0)
    assert (first[:2], second[:2]) == ((0.0, 2160.0), (2260.0, 804.0))
    assert third[:2] == pytest.approx((3164.0, 261.6))
    assert len({seed for *_, seed in (first, second, third)}) == 3 and first[2] == 1
    assert timed(fakelib_session, 100.0) == [first, second, third]
    assert timed(fakelib_session, 1440.0) == [first]


def test_a_run_that_is_counted_or_stopped_has_one_round(fakelib_session: Session) -> None:
    assert list(rounds(fakelib_session, 1, HOUR, None)) == [Round(1)]
    stopped = replace(fakelib_session, clock=RoundsClock(), stopped=lambda: True)
    assert list(rounds(stopped, 1, HOUR, HOUR)) == [Round(1, 2160.0, 1440.0)]


@pytest.fixture
def growing(traced: Path) -> Path:
    """The state of a run of model programs, in a directory with one program."""
    Path("mine").mkdir()
    (Path("mine") / "windows.py").write_text(PROGRAM)
    Path("nightfuzz.toml").write_text('confirm_runs = 2\nworkers = 1\nengine = "moco"\nmodels = ["mine"]\n')
    write(
        Knowledge(library="fakelib", build="fakelib-1", apis={WINDOW.api: WINDOW}),
        traced / "knowledge" / "fakelib-1.yaml",
    )
    return traced


@pytest.mark.parametrize("command", [("fuzz",), ("run", "--source", "docs")])
def test_a_counted_run_grows_once_whatever_time_there_is(cli: Cli, growing: Path, command: tuple[str, ...]) -> None:
    done = cli(*command, "--target", "fakelib-1", "--state", growing, "--tests-count", 20, "--time", "10h", "--json")
    assert done.code == 0, done
    with open_store(growing / "state.db", read_only=True) as store:
        runs = [run for run in store.runs() if run.options.get("engine") == "moco"]
    assert len(runs) == 1 and runs[0].options["seconds"] is None


def test_trees_go_on_in_the_next_round(cli: Cli, growing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "rounds", lambda _, seed, *__: [Round(seed)] * 2)
    done = cli("fuzz", "--target", "fakelib-1", "--state", growing, "--tests-count", 20, "--json")
    assert done.code == 0, done
    with open_store(growing / "state.db", read_only=True) as store:
        runs = [run for run in store.runs() if run.options.get("engine") == "moco"]
        trees = store.trees("fakelib-1")
    assert len(runs) == 2 and len({run.seed for run in runs}) == 1 and len({tree.seed for tree in trees}) == len(trees)
    assert done.json["fuzz"]["tests"] == sum(run.summary["tests"] for run in runs) >= 40
    assert sum(done.json["triage"]["settled"].values()) == done.json["fuzz"]["kept"]
