"""Workflows that `nightfuzz init` wrote into new repositories, run by a real runner (act).

One repository is for a user's own runners, so its files hold the jobs. The second one is for GitHub's machines, and its
files call the reusable workflows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import fakenights
import pytest
from actrunner import ActProject, ActRun
from fakeindex import real_index
from githttp import serving
from githubserver import Repository

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
SETTINGS = """
library = "fakelib"
workers = 1
seed = 1
confirm_runs = 2
"""
SHORT = """
tests_count = 200
source = ["docs"]
api = ["fakelib.scale", "fakelib.outer"]
"""
RUNNERS = {"self-hosted": ["--runs-on", "self-hosted", "--runs-on", "gpu"], "hosted": []}
ALL = dict.fromkeys(("plan", "fuzz", "report"), "succeeded")


@pytest.fixture(params=RUNNERS)
def project(request: pytest.FixtureRequest, tmp_path: Path, github_repo: Repository) -> Iterator[ActProject]:
    for name in ("nights", "remotes"):
        (tmp_path / name).mkdir()
    with real_index(tmp_path / "nights") as index, serving(tmp_path / "remotes", github_repo.token) as server:
        flags = ["--target", f"index:{index}#fakelib", "--sandbox", "none", *RUNNERS[request.param]]
        yield ActProject(tmp_path, github_repo, server, index, flags)


def outputs(run: ActRun) -> dict[str, str]:
    """Returns the outputs of the report job."""
    found = {}
    for line in run.log.splitlines():
        if "report]" in line and "::set-output:: " in line:
            name, _sign, value = line.partition("::set-output:: ")[2].partition("=")
            found[name] = value
    return found


def test_two_nights_and_a_command(project: ActProject) -> None:
    project.build(1)
    project.commit({"nightfuzz.toml": SETTINGS + SHORT}, "The project")
    project.init("--workflow", "nightly", "--workflow", "commands")
    first = project.run("nightfuzz.yml", "schedule")
    assert (first.code, first.outcomes) == (0, ALL), first.log
    assert first.names() == ["nightfuzz-plan-nightly", "nightfuzz-results-0-nightly"]
    assert (outputs(first)["bugs-new"], outputs(first)["bugs-total"]) == ("2", "2")
    (scale,) = [issue["number"] for issue in project.issues() if "fakelib.scale" in issue["title"]]
    assert len(project.issues()) == 2
    assert len(list((project.home / "artifacts" / "sarif").iterdir())) == 1

    # A stranger's comment starts no job; a maintainer's command is kept for the next night.
    stranger = project.comment(scale, "/nightfuzz retry", "NONE")
    assert project.run("nightfuzz-commands.yml", "issue_comment", stranger).outcomes == {}
    asked = project.comment(scale, "/nightfuzz retry", "COLLABORATOR")
    heard = project.run("nightfuzz-commands.yml", "issue_comment", asked)
    assert (heard.code, heard.outcomes) == (0, {"listen": "succeeded"}), heard.log

    # The second night runs on another machine and has the first night's state; the bug is gone from its build.
    project.build(2, fakenights.MENDED)
    second = project.run("nightfuzz.yml", "schedule")
    assert (second.code, second.outcomes) == (0, ALL), second.log
    assert outputs(second)["bugs-new"] == "0"
    assert len(project.issues()) == 2
    assert any("retry" in text and "1.0.dev20260102" in text for text in project.comments(scale))
    assert project.repo.token not in first.log + heard.log + second.log


def test_a_pull_request_in_a_repository_without_nights(project: ActProject) -> None:
    project.build(1)
    project.commit({"nightfuzz.toml": f"{SETTINGS}tests_count = 200\n"}, "The project")
    project.init("--workflow", "pull-request", "--tests", "tests")
    test = "import fakelib\nimport numpy as np\n\n\ndef test_scale():\n    fakelib.scale(np.ones(3), 2)\n"
    event = project.pull({"tests/test_scale.py": test})
    run = project.run("nightfuzz-pull-request.yml", "pull_request", event)
    assert run.outcomes == ALL, run.log
    (comment,) = project.comments(event["number"])
    assert "fakelib.scale" in comment


def test_a_bump_is_compared_on_the_calls_of_the_projects_tests(project: ActProject) -> None:
    project.build(1)
    project.build(2, {"return x.sum(-1)": "return x.sum(-1, keepdims=True)"})
    settings = f'{SETTINGS}tests_count = 300\nindex = "{project.index}"\n'
    project.commit({"nightfuzz.toml": settings, "requirements.txt": "fakelib==1.0.dev20260101\n"}, "The project")
    project.init("--workflow", "bump", "--tests", "tests")
    event = project.pull({"requirements.txt": "fakelib==1.0.dev20260102\n"})
    run = project.run("nightfuzz-bump.yml", "pull_request", event)
    assert run.outcomes == ALL, run.log
    (comment,) = project.comments(event["number"])
    assert "fakelib.row_sum" in comment and "test_pipeline.py" in comment


def test_a_cancelled_night_leaves_what_it_has_found(project: ActProject) -> None:
    project.build(1)
    project.commit({"nightfuzz.toml": SETTINGS + SHORT.replace("tests_count", "# ")}, "The project")
    project.init("--workflow", "nightly", "--time", "20m")
    run = project.run("nightfuzz.yml", "schedule", watch=lambda line: "fuzzing" in line and project.interrupt())
    assert (run.outcomes["plan"], run.outcomes["fuzz"]) == ("succeeded", "failed"), run.log
    left = run.artifacts / "nightfuzz-results-0-nightly"
    results = json.loads((left / "results.json").read_text())
    assert results["stopped"] and results["figures"]["seeds"] > 0, run.log
    assert list(left.glob("state*"))
    assert "The run was cancelled early" in run.log
