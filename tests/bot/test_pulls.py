"""The bot's answer to a pull request, on a GitHub server: one comment, and a check."""

from __future__ import annotations

from typing import Any

import pytest
from clocks import FakeTime
from githubserver import APP, Repository, token_of
from hubs import budget_of, hub_of

from nightfuzz.bot.github.auth import AppAuth
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.pulls import PullLinks, PullUpdate, update_pull
from nightfuzz.reports.results import BugEntry, BuildEntry, ChangeEntry, OutcomeEntry, RunResult, TotalsEntry

OLD = BuildEntry(key="torch-2.13.0", library="torch", version="2.13.0")
NEW = BuildEntry(key="torch-2.14.0", library="torch", version="2.14.0")
RAISED = OutcomeEntry(kind="exception", name="RuntimeError", text="sizes differ")


def result(**more: Any) -> RunResult:
    return RunResult(mode="bump", target=NEW, baseline=OLD, figures=TotalsEntry(seconds=60, tests=1_000), **more)


def change(number: int) -> ChangeEntry:
    """Returns a change: a call that returned and now raises."""
    api = f"torch.g{number}"
    common = {"title": f"{api}: regression", "api": api, "kind": "regression", "signature": api, "hits": 5, "runs": 5}
    script = f"import torch\n\nprint({api}(torch.zeros(2)))\n"
    return ChangeEntry(
        fingerprint=f"{number:032x}", script=script, before=OutcomeEntry(kind="ok"), after=RAISED, **common
    )


def regression(api: str) -> BugEntry:
    common = {"kind": "crash", "grade": "crash", "validity": "valid", "oracle": "crash", "hits": 5, "runs": 5}
    names = {"fingerprint": "1" * 32, "cluster": "1" * 32, "number": 1, "signature": api, "title": api, "api": api}
    return BugEntry(script="import torch\n", observed=RAISED, new=True, regression=True, **common, **names)


CHANGED = result(changes=(change(1),))
NOTHING = result()


class OneCommitPull:
    """A pull request of one commit."""

    def __init__(self, repo: Repository) -> None:
        self.repo, self.hub = repo, hub_of(repo)
        base = repo.get("/git/ref/heads/main")["object"]["sha"]
        repo.send("POST", "/git/refs", {"ref": "refs/heads/bump", "sha": base})
        repo.send("PUT", "/contents/file", {"message": "m", "content": "Zg==", "branch": "bump"})
        self.number = int(repo.send("POST", "/pulls", {"title": "bump", "head": "bump", "base": "main"})["number"])

    def push(self) -> None:
        """Adds a commit to branch and pull request; the server's pull requests do not follow their branch."""
        self.repo.send("PUT", f"/pulls/{self.number}/update-branch", {})

    @property
    def sha(self) -> str:
        return str(self.repo.get(f"/pulls/{self.number}")["head"]["sha"])

    def tell(self, told: RunResult, **more: Any) -> PullUpdate:
        given = {"sha": self.sha, "fail_on": "regression", "links": PullLinks(), **more}
        return update_pull(self.hub, self.number, told, **given)

    @property
    def comments(self) -> list[str]:
        return [each["body"] for each in self.repo.all(f"/issues/{self.number}/comments")]

    @property
    def conclusions(self) -> list[str]:
        return [each["conclusion"] for each in self.repo.get(f"/commits/{self.sha}/check-runs")["check_runs"]]


@pytest.fixture
def pull(github_repo: Repository) -> OneCommitPull:
    return OneCommitPull(github_repo)


def test_where_nothing_changed_nothing_is_said(pull: OneCommitPull) -> None:
    assert pull.tell(NOTHING).comment == "none"
    assert pull.comments == []


def test_the_next_push_updates_the_one_comment(pull: OneCommitPull) -> None:
    assert pull.tell(CHANGED).comment == "written" and pull.conclusions == ["failure"]
    (first,) = pull.comments
    assert "torch.g1" in first
    pull.push()
    assert pull.tell(result(changes=(change(2),))).comment == "written"
    (second,) = pull.comments
    assert "torch.g2" in second and "torch.g1" not in second
    pull.push()
    assert pull.tell(NOTHING).comment == "written" and pull.conclusions == ["success"]
    (third,) = pull.comments
    assert "torch.g2" not in third


def test_a_run_that_was_overtaken_says_nothing(pull: OneCommitPull) -> None:
    sha = pull.sha
    pull.push()
    assert pull.tell(CHANGED, sha=sha).comment == "outdated"
    assert pull.comments == []


def test_a_pull_request_that_is_closed_is_left_alone(pull: OneCommitPull) -> None:
    pull.repo.send("PATCH", f"/pulls/{pull.number}", {"state": "closed"})
    assert pull.tell(CHANGED).comment == "closed"
    assert pull.comments == []


def test_libraries_have_a_comment_each(pull: OneCommitPull) -> None:
    pull.tell(CHANGED)
    pull.tell(CHANGED.model_copy(update={"target": NEW.model_copy(update={"library": "tensorflow"})}))
    assert len(pull.comments) == 2


def test_a_new_identity_takes_the_place_of_the_former_ones_comment(pull: OneCommitPull) -> None:
    """The workflow reports with one identity and later with another, an App or a token."""
    permissions = {"issues": "write", "pull_requests": "write", "checks": "write"}
    app = AppAuth(str(APP), Secret(pull.repo.server.private_key), permissions)
    former = Hub.open(app, pull.repo.name, pull.repo.server.url, budget=budget_of(FakeTime()))
    update_pull(former, pull.number, CHANGED, sha=pull.sha, fail_on="regression", links=PullLinks())
    assert "torch.g1" in pull.comments[0]
    assert pull.tell(NOTHING).comment == "written"
    (only,) = pull.repo.all(f"/issues/{pull.number}/comments")
    assert "torch.g1" not in only["body"] and only["user"]["login"] == pull.hub.login()


def test_a_strangers_copy_of_our_comment_is_not_ours(pull: OneCommitPull) -> None:
    pull.tell(CHANGED)
    (ours,) = pull.comments
    (first,) = pull.repo.all(f"/issues/{pull.number}/comments")
    pull.repo.send("DELETE", f"/issues/comments/{first['id']}", None)
    pull.repo.send("POST", f"/issues/{pull.number}/comments", {"body": ours}, token_of("stranger"))
    assert pull.tell(NOTHING).comment == "none"
    assert pull.comments == [ours]


@pytest.mark.parametrize(("fail_on", "expected"), [("never", "neutral"), ("regression", "failure")])
def test_the_check_ends_as_was_asked(pull: OneCommitPull, fail_on: str, expected: str) -> None:
    assert pull.tell(CHANGED, fail_on=fail_on).problems == ()
    (run,) = pull.repo.get(f"/commits/{pull.sha}/check-runs")["check_runs"]
    assert (run["conclusion"], run["name"]) == (expected, "nightfuzz bump (torch)")


def test_texts_of_a_worker_stay_text(pull: OneCommitPull) -> None:
    hostile = "`x`\n@everyone <img src=x> <!-- nightfuzz:1 kind=pull id=" + "0" * 32 + " -->"
    pull.tell(result(bugs=(regression(hostile),)))
    pull.tell(CHANGED)
    assert len(pull.comments) == 1
