"""`nightfuzz run`: a share of the fuzzing grows model programs; the findings of both are examined together."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Cli
from windows import PROGRAM, WINDOW

from fuzz_core.campaign.moco import knowledge as share
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.watch import Watch
from fuzz_core.cli.commands.run import models_share
from fuzz_core.cli.settings import Settings
from fuzz_core.modelgen.moco.facts import Knowledge
from fuzz_core.modelgen.moco.knowledge.file import write
from fuzz_core.store.statefile import open_store

RUN = ("run", "--target", "fakelib-1", "--source", "docs", "--seed", 3, "--models", "mine")


@pytest.fixture
def traced_with_programs(cli: Cli, traced: Path) -> Path:
    """The traced state, in a directory with a model program."""
    Path("mine").mkdir()
    (Path("mine") / "windows.py").write_text(PROGRAM)
    Path("nightfuzz.toml").write_text("confirm_runs = 2\nworkers = 1\n")
    return traced


def known(state: Path) -> None:
    knowledge = Knowledge(library="fakelib", build="fakelib-1", apis={WINDOW.api: WINDOW})
    write(knowledge, state / "knowledge" / "fakelib-1.yaml")


def engines(state: Path) -> list[str]:
    with open_store(state / "state.db", read_only=True) as store:
        return [str(run.options.get("engine", "api")) for run in store.runs()]


def test_apis_and_model_programs_have_their_time_and_one_report(
    cli: Cli, traced_with_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = traced_with_programs
    monkeypatch.setattr(share, "LEAST_SECONDS", 1.0)
    known(state)
    done = cli(*RUN, "--state", state, "--time", "25s", "--models-share", "0.4", "--json")
    assert done.code == 0, done
    fuzz, models, triage = (done.json[name] for name in ("fuzz", "models", "triage"))
    assert fuzz["tests"] and models["nodes"]["ok"] and models["apis"] == [WINDOW.api]
    assert models["kept"] and sum(triage["settled"].values()) + triage["left"] == fuzz["kept"] + models["kept"]
    assert engines(state) == ["api", "moco"]
    with open_store(state / "state.db", read_only=True) as store:
        runs = {finding.run for finding in store.findings("fakelib-1")}
    assert runs == {fuzz["run"], models["run"]} and Path(done.json["report"]).read_text().startswith("# nightfuzz")


def test_a_share_that_learns_first_is_left_out_where_the_time_is_short(cli: Cli, traced_with_programs: Path) -> None:
    done = cli(*RUN, "--state", traced_with_programs, "--time", "12s")
    assert done.code == 0, done
    assert "no model programs are fuzzed: they would have " in done.out and "are to be learnt first" in done.out
    assert "model programs: " not in done.out and engines(traced_with_programs) == ["api"]


def test_what_goes_wrong_with_programs_takes_nothing_from_apis(
    cli: Cli, traced_with_programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = traced_with_programs
    monkeypatch.setattr(share, "LEAST_SECONDS", 1.0)
    known(state)
    (Path("mine") / "windows.py").write_text("print('no model')\n")
    done = cli(*RUN, "--state", state, "--time", "12s", "--json")
    assert done.code == 0, done
    assert done.json["models"]["left_out"].startswith(
        "no model program for fakelib can be taken apart; mine/windows.py cannot be taken apart"
    )
    assert done.json["fuzz"]["tests"] and "no model programs are fuzzed" in done.err
    assert "windows.py cannot be taken apart: it has no hidden layers" in done.err


def test_a_counted_run_has_no_share_and_is_the_same_again(
    cli: Cli, traced_with_programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(share, "LEAST_SECONDS", 0.0)
    known(traced_with_programs)
    told = []
    for name in ("first", "second"):
        state = shutil.copytree(traced_with_programs, tmp_path / name)
        done = cli(*RUN, "--state", state, "--tests-count", 200, "--models-share", "0.5", "--json")
        assert done.code == 0, done
        assert "models" not in done.json and engines(state) == ["api"]
        told.append((done.json["fuzz"]["outcomes"], done.json["triage"]))
    assert told[0] == told[1]


MAIN = """
from fuzz_core.campaign.moco import knowledge as share
from fuzz_core.cli.app import main
share.LEAST_SECONDS = 1.0
main()
"""


def test_an_interrupted_share_keeps_and_tells_what_it_has(traced_with_programs: Path) -> None:
    state = traced_with_programs
    known(state)
    command = [sys.executable, "-c", MAIN, *map(str, RUN), "--state", str(state), "--time", "10m"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([*command, "--models-share", "0.98"], stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "mutating models" in line:
                process.send_signal(signal.SIGINT)
                break
        lines += process.stdout.readlines()
    assert process.returncode == 130, lines
    assert any(line.startswith("model programs: ") for line in lines) and "report" in lines[-1]
    with open_store(state / "state.db", read_only=True) as store:
        assert [run.status for run in store.runs()] == ["done", "interrupted"]


class Noting(Watch):
    """A watch that keeps the lines which stay on the screen."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """Keeps the line."""
        self.notes.append(text)


@pytest.mark.parametrize(
    ("settings", "found", "said"),
    [
        ({}, 0.2, False),
        ({"models_share": 0.5}, 0.5, False),
        ({"models_share": 0.0}, 0.0, False),
        ({"models_share": 0.0, "api": ["fakelib.add"]}, 0.0, False),
        ({"tests_count": 100}, 0.0, False),
        ({"engine": "moco"}, 0.0, False),
        ({"api": ["fakelib.add"]}, 0.0, True),
        ({"changed": True}, 0.0, True),
    ],
)
def test_a_run_about_some_apis_alone_has_no_share(
    fakelib_session: Session, settings: dict[str, object], found: float, said: bool
) -> None:
    fakelib_session.watch = watch = Noting()
    assert models_share(fakelib_session, Settings(**settings)) == found
    assert bool(watch.notes) == said


@pytest.mark.parametrize("text", ["1", "-0.1", "nan", "inf"])
def test_a_share_that_is_none_is_refused(cli: Cli, text: str) -> None:
    done = cli("run", "--models-share", text)
    assert done.code == 2 and "models_share on the command line" in done.err
