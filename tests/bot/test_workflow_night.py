"""A night in two shards through the reusable workflow itself: real command, real wheels, a GitHub server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import tokencommand
from fakeindex import real_index
from githubserver import Repository
from project import INSTALLED, Project
from workflow import Hosting

SETTINGS = """
library = "fakelib"
workers = 1
seed = 1
confirm_runs = 2
tests_count = 200
source = ["docs"]
api = ["fakelib.scale", "fakelib.outer"]
"""


def test_shards_are_put_together_and_only_the_report_has_the_token(
    tmp_path: Path, github_repo: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nights").mkdir()
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    with real_index(tmp_path / "nights") as index:
        project = Project(tmp_path, github_repo, index, INSTALLED)
        project.write("nightfuzz.toml", SETTINGS)
        project.commit("Settings")
        project.build(1)
        given = {**INSTALLED, "install": {"command": str(tokencommand.written(tmp_path / "nightfuzz"))}}
        hosting = Hosting(tmp_path / "hosting", project.workspace, given, environment(project), github_repo.token)
        called = hosting.call(
            "nightfuzz",
            {"target": f"index:{index}#fakelib", "sandbox": "none", "settings": "shards = 2", "fail-on": "any"},
        )

    # The night fails, as its caller has asked, after all results are published.
    logs = "\n".join(run.log for job in called.jobs for run in job.runs)
    assert [job.outcome for job in called.jobs] == ["success", "success", "success", "failure"], logs
    assert (called.outputs["bugs-total"], called.outputs["bugs-new"]) == ("2", "2")
    body = "\n".join(str(issue["body"]) for issue in project.issues())
    assert "fakelib.scale" in body
    assert "fakelib.outer" in body
    assert "github/codeql-action/upload-sarif" in called.job("report").given

    fuzzed = [run for job in called.jobs if job.name == "fuzz" for run in job.runs]
    told = [run.log + str([step.environment for step in run.steps]) for run in fuzzed]
    left = [path.read_bytes() for path in hosting.artifacts.rglob("*") if path.is_file()]
    assert len(fuzzed) == 2
    assert len(left) > 8
    assert all(github_repo.token not in text for text in told)
    assert all(github_repo.token.encode() not in data for data in left)


def trap(folder: Path) -> Path:
    """Returns a folder with modules that end every process that imports them."""
    folder.mkdir(exist_ok=True)
    for name in ("typer", "reports", "pip"):
        (folder / f"{name}.py").write_text("raise SystemExit('a module of the caller')\n")
    return folder


def environment(project: Project) -> dict[str, str]:
    """Returns the environment that a runner of this GitHub gives to its steps."""
    return {
        "GITHUB_REPOSITORY": project.repo.name,
        "GITHUB_SERVER_URL": f"file://{project.home / 'remotes'}",
        "GITHUB_API_URL": project.repo.server.url,
        "GITHUB_RUN_ID": "1",
        "NIGHTFUZZ_CACHE": os.environ["NIGHTFUZZ_CACHE"],
        "NIGHTFUZZ_PATH": os.environ["NIGHTFUZZ_PATH"],
        # A caller's own path, which nightfuzz must not import from.
        "PYTHONPATH": str(trap(project.home / "modules")),
    }
