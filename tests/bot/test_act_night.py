"""Nights by a real runner (act), from the workflows that `nightfuzz init` wrote into a new repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from actrunner import ActProject
from fakeindex import real_index
from githttp import serving
from githubserver import Repository

pytestmark = pytest.mark.slow
SETTINGS = """
library = "fakelib"
workers = 1
seed = 1
confirm_runs = 2
tests_count = 200
source = ["docs"]
api = ["fakelib.scale", "fakelib.outer"]
"""
RUNNERS = {"self-hosted": ["--runs-on", "self-hosted", "--runs-on", "gpu"], "hosted": []}


@pytest.fixture
def project(tmp_path: Path, github_repo: Repository) -> Iterator[ActProject]:
    (tmp_path / "nights").mkdir()
    (tmp_path / "remotes").mkdir()
    with real_index(tmp_path / "nights") as index, serving(tmp_path / "remotes", github_repo.token) as server:
        made = ActProject(tmp_path, github_repo, server, index)
        made.commit({"nightfuzz.toml": SETTINGS}, "The project")
        yield made


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_night(runner: str, project: ActProject) -> None:
    project.build(1)
    project.init(*RUNNERS[runner], "--target", f"index:{project.index}#fakelib", "--sandbox", "none", "--time", "60s")
    first = project.run("nightfuzz.yml", "schedule")
    assert (first.code, first.outcomes) == (0, dict.fromkeys(("plan", "fuzz", "report"), "succeeded")), first.log
    assert first.names() == ["nightfuzz-plan-nightly", "nightfuzz-results-0-nightly"]
    titles = [issue["title"] for issue in project.issues()]
    assert len(titles) == 2
    assert any("fakelib.scale" in title for title in titles)
