"""Nights on a build whose space file the release offers: `pull` downloads the file and `run` uses it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dockerengine
import fakenights
import pytest
import spaceoffers
from actioninputs import inputs
from sites import served

from fuzz_core.execution.docker import Engine
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.jobs.export import export_job
from nightfuzz.bot.jobs.fuzz import fuzz_job
from nightfuzz.bot.jobs.note import PlannedBuild
from nightfuzz.bot.jobs.request import JobRequest
from nightfuzz.bot.jobs.workspace import Workspace
from nightfuzz.reports.summary import summary

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[2]
SETTINGS = """
library = "fakelib"
workers = 1
seed = 1
confirm_runs = 2
tests_count = 200
source = ["docs"]
api = ["fakelib.scale", "fakelib.outer"]
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Folders of a job on a runner of its own."""
    adapters = str(fakenights.adapter(tmp_path / "adapters"))
    for name, value in {
        "NIGHTFUZZ_CACHE": str(tmp_path / "cache"),
        "NIGHTFUZZ_PATH": adapters,
        "PYTHONPATH": os.pathsep.join([str(ROOT), adapters]),
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "nightfuzz.toml").write_text(SETTINGS)
    return Workspace(tmp_path / "work", tmp_path / "state", tmp_path / "sources")


def packed(wheel: Path, folder: Path) -> dict[str, Any]:
    """Traces a build in another state and packs it into `folder`; returns the answer of `pack`."""

    def said(*words: str) -> Any:
        line = [sys.executable, "-m", "fuzz_core.cli", *words, "--state", str(folder / "elsewhere"), "--json"]
        done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=folder)
        return json.loads(done.stdout)

    folder.mkdir()
    key = said("pull", str(wheel))[0]["key"]
    said("trace", "--target", key, "--source", "docs")
    told: dict[str, Any] = said("pack", "--target", key, "--output", str(folder / "it.space"))
    return told


def taken_over(work: Workspace, folder: Path, sandbox: str) -> str:
    """Runs a night whose space file the release offers, and returns its summary. The night must not trace again."""
    wheel = fakenights.night(folder / "nights", 1)
    told = packed(wheel, folder / "site")
    given = ("--sandbox", sandbox)
    asked = JobRequest("nightly", 60.0, "", common=given, pull=given)
    with served(folder / "site") as address:
        spaceoffers.offer(folder / "adapters", told, f"{address}/it.space")
        build = PlannedBuild(spec=str(wheel))
        code = fuzz_job(asked, (build, None), work, lambda title: nullcontext(), lambda: datetime.now(UTC))
    assert code == 0, work.end_note().problems
    given_inputs = inputs(mode="nightly", target="fakelib", results=folder / "results")
    result = export_job(given_inputs, work, datetime.now(UTC))
    line, sweep = result.remarks
    assert sweep.startswith("Sweep of boundary classes over 2 apis: ")
    assert line.startswith(f"loaded from {told['key']}.space: {told['calls']} calls; ")
    assert f" of {told['calls']} run again are valid" in line
    with open_store(work.state_file) as store:
        assert {row.seconds for row in store.seeds(told["key"])} == {0.0}, "a seed was traced"
        assert any(bug.api == "fakelib.scale" for bug in store.bugs())
    return summary(result)


def test_a_night_takes_over_the_space_file_of_the_release_and_says_so(work: Workspace, tmp_path: Path) -> None:
    text = taken_over(work, tmp_path, "none")
    assert "\n- loaded from fakelib" in text and "no container" in text


def test_a_night_in_a_container_takes_it_over_too(work: Workspace, tmp_path: Path, engine: Engine) -> None:
    text = taken_over(work, tmp_path, "docker")
    assert "\n- loaded from fakelib" in text and "one container without network" in text


@pytest.fixture
def engine() -> Iterator[Engine]:
    with dockerengine.running() as found:
        dockerengine.image_in(found)
        yield found
