"""A fork's run: it belongs to the pull request with its head on GitHub, and texts of users do not count."""

from __future__ import annotations

import pytest
from githubserver import Repository
from hubs import hub_of

from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.jobs.context import pull_of, workflow_of


@pytest.fixture
def hub(github_repo: Repository) -> Hub:
    return hub_of(github_repo)


def opened(repo: Repository, branch: str, body: str) -> tuple[int, str]:
    """Opens a pull request of one commit; returns its number and the commit."""
    base = repo.get("/git/ref/heads/main")["object"]["sha"]
    repo.send("POST", "/git/refs", {"ref": f"refs/heads/{branch}", "sha": base})
    content = {"message": branch, "content": "Zg==", "branch": branch}
    repo.send("PUT", f"/contents/{branch}", content)
    number = int(repo.send("POST", "/pulls", {"title": branch, "head": branch, "base": "main", "body": body})["number"])
    return number, str(repo.get(f"/pulls/{number}")["head"]["sha"])


def test_it_is_found_by_its_head_and_by_nothing_that_was_written(github_repo: Repository, hub: Hub) -> None:
    number, sha = opened(github_repo, "bump", "")
    # GitHub finds a pull request by its commit. The test server searches texts alone, so the text names the commit,
    # too.
    github_repo.send("PATCH", f"/pulls/{number}", {"body": sha})
    _liar, other = opened(github_repo, "liar", f"mine: {sha}")
    assert sha != other
    assert pull_of(hub, github_repo.name, sha) == number
    assert pull_of(hub, github_repo.name, "0" * 40) == 0


def test_a_closed_one_is_none(github_repo: Repository, hub: Hub) -> None:
    number, sha = opened(github_repo, "bump", "")
    github_repo.send("PATCH", f"/pulls/{number}", {"body": sha, "state": "closed"})
    assert pull_of(hub, github_repo.name, sha) == 0


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        ("o/r/.github/workflows/my nights.yml@refs/heads/a@b", ".github/workflows/my nights.yml"),
        ("o/r/.github/workflows/n@1.yml@refs/pull/1/merge", ".github/workflows/n@1.yml"),
        ("other/r/.github/workflows/n.yml@refs/heads/main", ""),
        ("", ""),
    ],
)
def test_the_running_workflow_is_a_file_of_this_repository(ref: str, path: str) -> None:
    assert workflow_of({"GITHUB_WORKFLOW_REF": ref, "GITHUB_REPOSITORY": "o/r"}) == path
