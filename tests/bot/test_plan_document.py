"""The plan document: it fixes exact builds and shards before the fuzzing starts, and a shard follows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fakenights
import pytest
from actioninputs import inputs
from fakeindex import Faults, faulty_index
from fakewheels import FakeWheel, write_wheel
from packaging.tags import platform_tags

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.resolve import own_python
from nightfuzz.bot.jobs.collection import collect
from nightfuzz.bot.jobs.export import export_job
from nightfuzz.bot.jobs.fuzz import fuzz_job
from nightfuzz.bot.jobs.note import HandedPlan, PlannedBuild, handed_plan, read_note
from nightfuzz.bot.jobs.plan import builds_of, plan_job, read_plan
from nightfuzz.bot.jobs.request import JobRequest
from nightfuzz.bot.jobs.workspace import PLAN, PLAN_FOLDER, Workspace
from nightfuzz.bot.state.directory import StateDirectory

TAG = f"cp{own_python().replace('.', '')}"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit; no setting of this machine names a package index."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "test_it.py").write_text("import torch\n")
    run = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run([*run, *command], cwd=folder, check=True)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("NIGHTFUZZ_TORCH_INDEX", (tmp_path / "none").as_uri())
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[tuple[str, Faults]]:
    (tmp_path / "served").mkdir()
    with faulty_index(tmp_path / "served") as served:
        yield served


def torch(tmp_path: Path, version: str) -> Path:
    """Adds a wheel of torch to the index."""
    tag = f"{TAG}-{TAG}-{next(iter(platform_tags()))}"
    return write_wheel(tmp_path / "served", FakeWheel("torch", version, tag=tag))


def plan(project: Path, run: str = "7 now", **given: Any) -> tuple[HandedPlan, tuple[str, ...]]:
    """Returns the plan that the job leaves, and its lines for the summary."""
    folder = project.with_name("plan")
    place = StateDirectory(project.with_name("kept"))
    matrix = plan_job(inputs(plan_only="true", results=folder, **given), place, project, run)
    assert json.loads(matrix.text) == {"shard": list(range(matrix.shards))}
    return read_note(folder / PLAN), matrix.notes


def target_of(handed: HandedPlan) -> PlannedBuild:
    assert handed.note.target is not None
    return handed.note.target


@pytest.mark.smoke
def test_it_names_builds_shards_and_mode(project: Path, tmp_path: Path, index: tuple[str, Faults]) -> None:
    files = [torch(tmp_path, f"2.13.0.dev20260424+{label}") for label in ("cpu", "cu130")]
    torch(tmp_path, "2.12.0+cpu")
    spec, old = f"index:{index[0]}#torch-nightly", f"index:{index[0]}#torch==2.12.0"
    handed, notes = plan(project, target=spec, baseline=old, shards=3)
    note = handed.note
    assert (note.run, note.mode, note.shards) == ("7 now", "nightly", (0, 1, 2))
    lock = target_of(handed).lock
    assert note.baseline is not None and note.baseline.lock is not None and lock is not None
    assert (target_of(handed).spec, lock.version) == (spec, "2.13.0.dev20260424")
    assert (note.baseline.spec, note.baseline.lock.version) == (old, "2.12.0")
    # The baseline has only a CPU build, so the plan takes the CPU build of the target.
    (artifact,) = lock.artifacts
    assert (artifact.filename, artifact.index) == (files[0].name, index[0])
    assert (artifact.sha256 and artifact.url.endswith(files[0].name.replace("+", "%2B"))) or "+" in artifact.url
    assert any(line.startswith("target: torch 2.13.0.dev20260424, cpu") for line in notes)
    assert index[1].asked == [], "nothing is downloaded"


def test_no_two_plans_are_one(project: Path) -> None:
    given = {"target": "python:/x/bin/python"}
    assert plan(project, "7 now", **given)[0].identity != plan(project, "7 later", **given)[0].identity


def test_a_python_that_the_inputs_name_is_in_it(project: Path, tmp_path: Path, index: tuple[str, Faults]) -> None:
    torch(tmp_path, "2.13.0+cpu")
    spec = f"index:{index[0]}#torch"
    for given, settled in (({"python_version": own_python()}, own_python()), ({}, "")):
        lock = target_of(plan(project, target=spec, **given)[0]).lock
        assert lock is not None and lock.python == settled


def test_settings_say_flavour_library_and_index(project: Path, tmp_path: Path, index: tuple[str, Faults]) -> None:
    for label in ("cpu", "cu130"):
        torch(tmp_path, f"2.13.0.dev20260424+{label}")
    (project / "nightfuzz.toml").write_text(f'flavour = "cpu"\nindex = "{index[0]}"\n')
    lock = target_of(plan(project, target="torch-nightly")[0]).lock
    assert lock is not None and lock.flavours == {"cpu"}
    # An input of the workflow overrides the file.
    lock = target_of(plan(project, target="torch-nightly", flavour="cuda")[0]).lock
    assert lock is not None and lock.flavours == {"cuda"}


class DescribeWhatOnlyARunnerKnows:
    @pytest.mark.parametrize(
        ("spec", "given", "why"),
        [
            ("python:/x/bin/python", {}, "the interpreter is on the runner"),
            ("/builds/torch-2.13.0-cp312-cp312-linux_x86_64.whl", {}, "the file is on the runner"),
            ("index:http://127.0.0.1:9/simple#torch", {}, "cannot be reached"),
            ("index:http://127.0.0.1:9/simple#x", {"library": "mylib"}, "the package that knows mylib"),
        ],
    )
    def test_it_is_passed_on_as_it_is_and_said(self, project: Path, spec: str, given: dict[str, str], why: str) -> None:
        handed, notes = plan(project, target=spec, **given)
        assert (target_of(handed).spec, target_of(handed).lock) == (spec, None)
        assert why in target_of(handed).problem
        assert any("resolved by each fuzz job" in line and why in line for line in notes)

    def test_a_build_that_the_index_has_forgotten(
        self, project: Path, tmp_path: Path, index: tuple[str, Faults]
    ) -> None:
        torch(tmp_path, "2.13.0.dev20260424+cpu")
        handed, _ = plan(project, target=f"index:{index[0]}#torch-nightly==2.13.0.dev20260101")
        assert "has no nightly build" in target_of(handed).problem

    @pytest.mark.parametrize("spec", ["torchh==2.13.0", "torch>=2", "index:ftp://h/x#torch"])
    def test_a_spec_that_is_none_is_an_error_at_once(self, project: Path, spec: str) -> None:
        with pytest.raises(UserError):
            plan(project, target=spec)


def test_a_wheel_of_the_repository_is_locked_by_its_content(project: Path) -> None:
    path = write_wheel(project / "dist", FakeWheel("torch", "2.13.0"))
    handed, _ = plan(project, target=f"dist/{path.name}")
    lock = target_of(handed).lock
    assert lock is not None and lock.artifacts[0].sha256 is not None
    assert target_of(handed).spec == f"dist/{path.name}"


def test_a_mode_without_a_baseline_plans_none(project: Path) -> None:
    given = {"target": "python:/x/bin/python", "baseline": "python:/y/bin/python"}
    assert plan(project, mode="recheck", **given)[0].note.baseline is None
    assert plan(project, mode="nightly", **given)[0].note.baseline is not None


@pytest.mark.parametrize("kind", ["link", "large", "foreign"])
def test_a_document_that_is_none_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / PLAN
    if kind == "link":
        path.symlink_to("/etc/hostname")
    else:
        path.write_text(" " * (5 << 20) if kind == "large" else '{"secret": 1}')
    with pytest.raises(UserError, match=r"plan\.json"):
        read_note(path)


def test_several_plans_among_results_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / PLAN_FOLDER / name).mkdir(parents=True)
        (tmp_path / PLAN_FOLDER / name / PLAN).write_text("{}")
    with pytest.raises(UserError, match="2 plans"):
        handed_plan(tmp_path)


SETTINGS = """
library = "fakelib"
workers = 1
seed = 1
confirm_runs = 2
source = ["docs"]
api = ["fakelib.add"]
tests_count = 50
"""


@pytest.mark.slow
def test_two_shards_a_minute_apart_take_the_planned_night(
    project: Path, tmp_path: Path, index: tuple[str, Faults], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer build appears between the two shards; both shards still leave results of the planned build."""
    monkeypatch.setenv("NIGHTFUZZ_PATH", str(fakenights.adapter(tmp_path / "adapters")))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ["NIGHTFUZZ_PATH"]]))
    (project / "nightfuzz.toml").write_text(SETTINGS)
    fakenights.night(tmp_path / "served", 1)
    plan(project, target=f"index:{index[0]}#fakelib", shards=2)
    results = tmp_path / "results"
    (results / PLAN_FOLDER).mkdir(parents=True)
    shutil.copy(tmp_path / "plan" / PLAN, results / PLAN_FOLDER)
    for number in range(2):
        job = inputs(state="artifact", state_path=tmp_path / "plan", shards=2, shard=number, sandbox="none")
        handed = read_plan(job)
        home = tmp_path / f"shard-{number}"
        work = Workspace(home, home / "state", project)
        asked = JobRequest("nightly", 60.0, "", shard=number, shards=2, plan=handed.identity)
        builds = builds_of(job, handed.note)
        assert fuzz_job(asked, builds, work, lambda title: nullcontext(), lambda: datetime.now(UTC)) == 0
        left = job.model_copy(update={"results": results / f"nightfuzz-results-{number}-nightly"})
        export_job(left, work, datetime.now(UTC))
        fakenights.night(tmp_path / "served", 2)
    (tmp_path / "scratch").mkdir()
    run = collect(inputs(mode="report", results=results, github_token="t"), tmp_path / "scratch")
    assert (run.result.problems, run.result.incomplete) == ((), False)
    assert run.result.target.version == "1.0.dev20260101"
    assert {name for name, _ in index[1].asked} == {"fakelib-1.0.dev20260101-py3-none-any.whl"}
