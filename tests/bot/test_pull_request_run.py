"""A pull request in a repository that had no night: plan, fuzz and report, up to the comment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakeindex import real_index
from githubserver import Repository
from project import INSTALLED, Project, Pull, git

SETTINGS = """
library = "fakelib"
workers = 1
seed = 1
confirm_runs = 2
tests_count = 200
"""
SCALED = "import fakelib\nimport numpy as np\n\ndef test_scale():\n    fakelib.scale(np.ones((2, 5)), 7)\n"

OUTER = SCALED.replace("scale(np.ones((2, 5)), 7)", "outer(np.ones(2), np.ones(2))").replace("scale", "outer")


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


def push(project: Project, pull: Pull, files: dict[str, str]) -> None:
    """Checks out what GitHub checks out for a pull request: its merge with the base."""
    git(project.workspace, "checkout", "--quiet", "-B", "change", "main")
    pull.push(files)
    git(project.workspace, "checkout", "--quiet", "--detach", "main")
    git(project.workspace, "merge", "--quiet", "--no-ff", "-m", "merge", "change")


def test_what_the_changed_test_calls_is_fuzzed_and_told(project: Project) -> None:
    """There was no night, so no record holds the tests that the pull request leaves alone."""
    project.write("tests/test_outer.py", OUTER)
    project.commit("A test")
    pull = Pull(project)
    target = {"mode": "pr", "target": f"index:{project.index}#fakelib", "tests": "tests", "time": "10m"}
    push(project, pull, {"README.md": "text"})
    untouched = project.workflow(target, pull)
    assert untouched.outputs["bugs-new"] == "0" and "no seed is changed" in "".join(
        step.summary for step in untouched.steps
    )
    assert project.comments(pull.number) == []

    push(project, pull, {"tests/test_scale.py": SCALED})
    done = project.workflow(target, pull)
    assert int(done.outputs["bugs-new"]) >= 1
    (comment,) = project.comments(pull.number)
    assert "fakelib.scale" in comment and "of 1 api" in comment
    assert "fakelib.outer" not in comment
