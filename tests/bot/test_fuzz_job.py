"""The fuzz job: its commands run on a state that came as files and leave files for the next step."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fakenights
import pytest

from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.jobs.fuzz import FuzzJob, error_of, exact_spec, fuzz_job
from nightfuzz.bot.jobs.note import PlannedBuild
from nightfuzz.bot.jobs.request import JobCommand, JobRequest, commands
from nightfuzz.bot.jobs.workspace import EndNote, Workspace

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SETTINGS = """
library = "fakelib"
workers = 1
seed = 1
confirm_runs = 2
source = ["docs"]
api = ["fakelib.scale", "fakelib.add"]
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NIGHTFUZZ_PATH", str(fakenights.adapter(tmp_path / "adapters")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ["NIGHTFUZZ_PATH"]]))
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "nightfuzz.toml").write_text(f"{SETTINGS}tests_count = 400\n")
    return Workspace(tmp_path / "work", tmp_path / "state", tmp_path / "sources")


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return fakenights.night(tmp_path / "nights", 1)


def night(work: Workspace, spec: Path, **more: Any) -> int:
    asked = JobRequest("nightly", 60.0, "", **more)
    build = PlannedBuild(spec=str(spec))
    return fuzz_job(asked, (build, None), work, lambda title: nullcontext(), lambda: datetime.now(UTC))


def test_a_night_leaves_bugs_and_notes(work: Workspace, wheel: Path) -> None:
    assert night(work, wheel) == 0
    begun, ended = work.start_note(), work.end_note()
    assert (begun.mode, begun.baseline, begun.was) == ("nightly", None, {})
    assert (dict(ended.codes), ended.problems, ended.stopped) == ({"pull": 0, "run": 0}, (), False)
    with open_store(work.state_file, read_only=True) as store:
        bugs = store.bugs(begun.target)
        assert bugs and "environment" in store.target(begun.target).info
    assert work.answer("run")["fuzz"]["tests"] > 0
    assert night(work, wheel) == 0
    assert set(work.start_note().was) == {bug.signature for bug in bugs}
    assert list(work.end_note().codes) == ["pull", "recheck", "run"]


def test_no_module_of_the_sources_is_imported(work: Workspace, wheel: Path, tmp_path: Path) -> None:
    """A pull request may bring files with the names of modules that nightfuzz, pip and venv import first."""
    imported = tmp_path / "imported"
    trap = f"open({str(imported)!r}, 'a').write(__file__)\nraise SystemExit('a module of the sources')\n"
    for name in ("typer", "json", "pip", "venv", "reports/__init__", "fuzz_core/__init__", "numpy/__init__"):
        path = work.sources / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(trap)
    assert night(work, wheel) == 0
    assert dict(work.end_note().codes) == {"pull": 0, "run": 0}
    assert not imported.exists()


def test_no_process_of_ours_has_a_folder_of_the_sources_in_its_path(
    work: Workspace, wheel: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen, spy = tmp_path / "seen", tmp_path / "site"
    spy.mkdir()
    note = f"open({str(seen)!r}, 'a').write(json.dumps([sys.path, dict(os.environ)]) + chr(10))"
    (spy / "sitecustomize.py").write_text(f"import atexit, json, os, sys\natexit.register(lambda: {note})\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(spy), os.environ["PYTHONPATH"]]))
    assert night(work, wheel) == 0
    notes = [json.loads(line) for line in seen.read_text().splitlines()]
    assert len(notes) > 1
    sources = str(work.sources.resolve())
    assert [path for paths, _ in notes for path in paths if not path or path.startswith(sources)] == []
    assert [name for _, environment in notes for name, value in environment.items() if sources in value] == []


def test_what_the_runner_tells_its_steps_does_not_reach_a_command(
    work: Workspace, wheel: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("INPUT_GITHUB_TOKEN", "ghs_secret")
    monkeypatch.setenv("ACTIONS_RUNTIME_TOKEN", "runtime_secret")
    seen = tmp_path / "seen"
    spy = tmp_path / "site"
    spy.mkdir()
    (spy / "sitecustomize.py").write_text(f"import os\nopen({str(seen)!r}, 'a').write(repr(dict(os.environ)))\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(spy), os.environ["PYTHONPATH"]]))
    assert night(work, wheel) == 0
    assert "secret" not in seen.read_text() and "PATH" in seen.read_text()


def test_a_target_that_cannot_be_made_ends_the_job(work: Workspace) -> None:
    with pytest.raises(UserError, match=r"could not be made.*such.whl"):
        night(work, Path("/no/such.whl"))
    with pytest.raises(UserError, match=r"before it began to fuzz.*such.whl"):
        work.start_note()


def test_the_error_of_a_command_is_a_problem_of_the_run(work: Workspace, wheel: Path) -> None:
    file = work.sources / "nightfuzz.toml"
    file.write_text(file.read_text().replace('"fakelib.add"', '"fakelib.ad"'))
    assert night(work, wheel) == 2
    (problem,) = work.end_note().problems
    assert problem.startswith("`nightfuzz run` failed: no api of this build matches 'fakelib.ad'; ")
    assert "fakelib.add" in problem and "exit code" not in problem


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (["tracing seeds …", "error: no such api", "  -> name another"], "no such api; name another"),
        (["failed: first", "error: second"], "second"),
        (
            ["this is a bug in nightfuzz; please report the lines below", "nightfuzz 1", "KeyError: 'x'"],
            "this is a bug in nightfuzz; please report the lines below; KeyError: 'x'",
        ),
        (["tracing seeds …"], ""),
        ([], ""),
    ],
)
def test_the_last_error_is_told_in_one_line(lines: list[str], error: str) -> None:
    assert error_of(lines) == error


def test_a_cancelled_job_keeps_what_it_has(work: Workspace, wheel: Path) -> None:
    (work.sources / "nightfuzz.toml").write_text(f'{SETTINGS}time = "10m"\n')

    def cancel() -> None:
        """Interrupts the job as soon as the fuzzing has begun."""
        while not over.wait(0.05):
            if (work.root / "startnote.json").exists():
                with open_store(work.state_file, read_only=True) as store:
                    if store.runs():
                        break
        os.kill(os.getpid(), signal.SIGINT)

    over = threading.Event()
    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        code = night(work, wheel)
    finally:
        over.set()
        canceller.join()
    assert code == 130
    assert work.end_note().stopped
    with open_store(work.state_file, read_only=True) as store:
        assert [run.status for run in store.runs()] == ["interrupted"]


def test_a_night_counts_as_cancelled_from_the_first_signal_on(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def second_signal(process: subprocess.Popen[bytes], number: int) -> None:
        os.kill(process.pid, signal.SIGKILL)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "send_signal", second_signal)
    work.note(EndNote(codes={"pull": 0}))
    job = FuzzJob(work, lambda: True, lambda title: nullcontext())
    with pytest.raises(KeyboardInterrupt):
        job.call(JobCommand("doctor", ("doctor",)))
    assert work.end_note().stopped


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (JobRequest("nightly", 100, "k", recheck=True), ["recheck", "run"]),
        (JobRequest("nightly", 100, "k", recheck=True, shard=1, shards=2), ["run"]),
        (JobRequest("nightly", 100, "k", bisect=(7,)), ["bisect", "run"]),
        (JobRequest("pr", 100, "k", recheck=True), ["run"]),
        (JobRequest("bump", 100, "k", "b"), ["bump"]),
        (JobRequest("recheck", 100, "k"), ["recheck"]),
    ],
)
def test_each_mode_has_its_commands(asked: JobRequest, names: list[str]) -> None:
    made = commands(asked)
    assert [step.arguments[0] for step in made] == names
    assert all(step.arguments[-1] == "--json" for step in made)
    assert ("--changed" in made[-1].arguments) == (asked.mode == "pr")
    assert ("2/2" in made[-1].arguments) == (asked.shards == 2)


@pytest.mark.parametrize(
    ("spec", "version", "again"),
    [
        ("torch-nightly/cpu", "2.13.0.dev20260424+cpu", "torch-nightly/cpu==2.13.0.dev20260424"),
        ("torch==2.13.0", "2.13.0+cpu", "torch==2.13.0"),
        ("index:https://example.org/simple#fakelib", "1.2", "index:https://example.org/simple#fakelib==1.2"),
        ("python:/usr/bin/python3", "2.13.0", "python:/usr/bin/python3"),
        ("./torch-2.13.0.whl", "2.13.0", "./torch-2.13.0.whl"),
        ("jittor", "from a checkout", "jittor"),
    ],
)
def test_a_build_can_be_asked_for_again(spec: str, version: str, again: str) -> None:
    assert exact_spec(TargetRecord("k", spec, "torch", version, "/python")) == again


def test_an_answer_that_cannot_be_read_is_none(work: Workspace) -> None:
    work.root.mkdir()
    for text in ("", "[" * 100_000, "{", json.dumps({"x": 1})[:-1]):
        work.answer_file("run").write_text(text)
        assert work.answer("run") == {}
