"""nightfuzz in GitHub as a user meets it: from an empty repository to the return of a bug."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import fakenights
import pytest
from fakeindex import real_index
from githubserver import Repository
from project import INSTALLED, Project, Pull

SETTINGS = """
library = "fakelib"
workers = 1
seed = 1
confirm_runs = 2
tests_count = 300
source = ["docs"]
api = ["fakelib.scale", "fakelib.outer"]
"""


@pytest.fixture
def project(tmp_path: Path, github_repo: Repository, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    (tmp_path / "nights").mkdir()
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    with real_index(tmp_path / "nights") as index:
        made = Project(tmp_path, github_repo, index, INSTALLED)
        made.write("nightfuzz.toml", SETTINGS)
        made.commit("Settings")
        yield made


def test_from_an_empty_repository_to_the_return_of_a_bug(project: Project) -> None:
    # A maintainer sets nightfuzz up.
    assert project.init("--target", "torch-nightly") == ["nightfuzz.yml"]

    # The first night: one issue for a bug on valid input, one umbrella for all crashes on corner cases.
    project.build(1)
    first = project.night()
    titles = {each["title"]: each["number"] for each in project.issues()}
    scale = next(number for title, number in titles.items() if "fakelib.scale" in title)
    corner = next(number for title, number in titles.items() if "corner-case" in title)
    assert "Found by fuzzing" in project.repo.get(f"/issues/{scale}")["body"]
    assert "- [ ] `fakelib.outer`" in project.repo.get(f"/issues/{corner}")["body"]
    assert (first.outputs["bugs-new"], first.outputs["bugs-total"]) == ("2", "2")

    # The same build again: no new issue; one comment says when the bug was last seen.
    second = project.night()
    assert len(project.issues()) == 2
    assert (second.outputs["bugs-new"], second.outputs["bugs-total"]) == ("0", "2")
    assert len(project.comments(scale)) == 1

    # Two builds without the bug close its issue; the comment names the first of them.
    for day in (2, 3):
        project.build(day, fakenights.MENDED)
        project.night()
    closed = project.repo.get(f"/issues/{scale}")
    assert (closed["state"], closed["state_reason"]) == ("closed", "completed")
    assert "1.0.dev20260102" in project.comments(scale)[-1]

    # The bug returns: the same issue is open again, as a regression.
    project.build(4)
    last = project.night()
    again = project.repo.get(f"/issues/{scale}")
    assert again["state"] == "open"
    assert "nightfuzz:regression" in {label["name"] for label in again["labels"]}
    assert last.outputs["regressions"] == "1"
    assert len(project.issues()) == 2


def test_a_bump_gets_one_comment_that_the_next_push_updates(project: Project) -> None:
    project.build(1)
    project.build(2, {"return x.sum(-1)": "return x.sum(-1, keepdims=True)"})
    project.build(3)
    project.write("requirements.txt", "fakelib==1.0.dev20260101\n")
    project.write("nightfuzz.toml", f'{SETTINGS}index = "{project.index}"\n'.replace("api =", "# api ="))
    project.commit("Pinned")
    pull = Pull(project)
    pull.push({"requirements.txt": "fakelib==1.0.dev20260102\n"})
    project.bump(pull)
    (comment,) = project.comments(pull.number)
    assert "fakelib.row_sum" in comment and "test_pipeline.py" in comment

    project.write("requirements.txt", "fakelib==1.0.dev20260101\n")
    project.commit("Base")
    pull.push({"requirements.txt": "fakelib==1.0.dev20260103\n"})
    project.bump(pull)
    (updated,) = project.comments(pull.number)
    assert updated != comment and "fakelib.row_sum" not in updated


# These settings keep a night from using what the last one learnt, so that both nights execute the same. Reading the
# apis' documentation takes moments; each other source that names one of them compiles for a minute.
TORCH = """
workers = 2
seed = 1
confirm_runs = 2
tests_count = 3000
grow = false
schedule = "uniform"
source = ["docs"]
seed_time = 10
api = ["torch.ones", "torch.nn.FeatureAlphaDropout", "torch.nn.AlphaDropout", "torch.Tensor.all"]
"""


@pytest.mark.real
@pytest.mark.timeout(1200)
def test_nights_of_real_torch(tmp_path: Path, github_repo: Repository, torch_python: Path) -> None:
    """Runs all of the action's own steps, its installation too."""
    project = Project(tmp_path, github_repo, "", {"look": {"python": sys.executable}})
    project.write("nightfuzz.toml", TORCH)
    project.init("--target", "torch==2.13.0")
    first = project.night(target="torch==2.13.0", time="10m")
    issues = project.issues()
    assert issues and all("2.13.0" in each["body"] for each in issues)
    assert int(first.outputs["bugs-new"]) >= len(issues) - 1
    # The first night has shown that the installation works.
    project.steps = INSTALLED
    second = project.night(target="torch==2.13.0", time="10m")
    assert second.outputs["bugs-new"] == "0"
    assert [each["number"] for each in project.issues()] == [each["number"] for each in issues]
