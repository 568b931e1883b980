"""A pull request in a repository without a night: plan, fuzz and report, up to the comment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakeindex import real_index
from githubserver import Repository
from project import INSTALLED, Project, Pull

SETTINGS = """
library = "fakelib"
workers = 1
seed = 1
confirm_runs = 2
tests_count = 200
"""
SCALED = "import fakelib\nimport numpy as np\n\ndef test_scale():\n    fakelib.scale(np.ones((2, 5)), 7)\n"


@pytest.fixture
def project(tmp_path: Path, github_repo: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    (tmp_path / "nights").mkdir()
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    with real_index(tmp_path / "nights") as index:
        made = Project(tmp_path, github_repo, index, INSTALLED)
        made.write("nightfuzz.toml", SETTINGS)
        made.commit("Settings")
        made.build(1)
        yield made


def test_what_the_changed_test_calls_is_fuzzed_and_told(project: Project) -> None:
    pull = Pull(project)
    (project.workspace / "own").mkdir()
    pull.push({"own/test_scale.py": SCALED})
    target = {"mode": "pr", "target": f"index:{project.index}#fakelib", "tests": "own", "time": "10m"}
    done = project.workflow(target, pull)
    assert int(done.outputs["bugs-new"]) >= 1
    (comment,) = project.comments(pull.number)
    assert "fakelib.scale" in comment and "of 1 api" in comment
    assert "fakelib.outer" not in comment
