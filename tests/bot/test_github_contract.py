"""The contract with GitHub's published API: our requests fit it, and we can read the answers that it describes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import faultproxy
import pytest
from clocks import FakeTime
from githubserver import APP, Repository
from openapi import Contract

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.auth import AppAuth, TokenAuth
from nightfuzz.bot.github.budget import Budget, RateLimits
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import Marker
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.github.views import CommentView, EventView, IssueView, PullView, role

ID = "0123456789abcdef" * 2
ANNOTATION = {
    "path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "m", "title": "t"
}  # fmt: skip
HOME = "/repos/{owner}/{repo}"


@pytest.fixture(scope="session")
def contract(github_openapi: Path) -> Contract:
    return Contract(github_openapi)


@pytest.fixture
def proxy(github_repo: Repository) -> Iterator[faultproxy.Proxy]:
    """A proxy that records requests and answers those that the server lacks."""
    with faultproxy.fault_proxy(github_repo.server.url, faultproxy.Plan(1, {})) as running:
        running.instead = _instead
        yield running


def _instead(verb: str, path: str) -> tuple[int, dict[str, str], Any] | None:
    if path.endswith("/reactions"):
        return 201, {}, {"id": 1, "content": "eyes"}
    return (200, {}, {"data": {"viewer": {"login": "github-actions[bot]"}}}) if path == "/graphql" else None


def opened(proxy: faultproxy.Proxy, repo: Repository, auth: TokenAuth | AppAuth | None = None) -> Hub:
    time = FakeTime()
    auth = auth or TokenAuth(Secret(repo.token))
    return Hub.open(auth, repo.name, proxy.url, budget=Budget(time.clock, time.sleep, RateLimits(in_all=1e9)))


def test_every_request_is_in_githubs_description(
    github_repo: Repository, proxy: faultproxy.Proxy, contract: Contract
) -> None:
    app = AppAuth(str(APP), Secret(github_repo.server.private_key))
    everything(opened(proxy, github_repo), github_repo)
    opened(proxy, github_repo, app).issues()
    wrong = [problem for seen in proxy.seen for problem in contract.problems(seen.verb, seen.url, seen.body)]
    assert wrong == []
    assert len(proxy.seen) > 40


def everything(hub: Hub, repo: Repository) -> None:
    """Calls each method once or twice."""
    marker = Marker("bug", ID)
    hub.is_private()
    hub.ensure_labels({"nightfuzz": ("5319e7", "Found by fuzzing"), "a/b c": ("ff0000", "")})
    hub.create_issue(marker, "t", "b", ["nightfuzz"])
    hub.edit_issue(1, title="new", body="b", state="closed", state_reason="completed")
    hub.issues(label="nightfuzz")
    hub.issue(1)
    hub.add_labels(1, ["a/b c"])
    hub.remove_label(1, "a/b c")
    comment = hub.upsert_comment(1, marker, "one")
    # The accidental second comment is deleted.
    repo.send("POST", "/issues/1/comments", {"body": f"{marker.text}\nagain"}, repo.token)
    hub.upsert_comment(1, marker, "two")
    hub.react(comment.id, "eyes")
    hub.permission("maintainer")
    hub.events(1)
    hub.search_issues("repo:a/b x in:title is:issue")
    sha = repo.get("/branches/main")["commit"]["sha"]
    hub.check_run(sha, "nightfuzz", "neutral", "t", "s", [ANNOTATION] * 50)
    hub.pull(1)


def test_a_request_that_is_wrong_is_seen(contract: Contract) -> None:
    assert contract.problems("GET", "/repos/a/b/issues?state=every", "")
    assert contract.problems("GET", "/repos/a/b/issues?colour=red", "")
    assert contract.problems("POST", "/repos/a/b/issues", '{"body": "no title"}')
    assert contract.problems("POST", "/repos/a/b/issues", '{"title": "t", "labels": 3}')
    assert contract.problems("PATCH", "/repos/a/b/issues/1", '{"state_reason": "wrong"}')
    assert contract.problems("PATCH", "/repos/a/b/nowhere", "{}")
    assert contract.problems("POST", "/repos/a/b/issues", '{"title": "t", "labels": ["x"]}') == []


@pytest.mark.parametrize(
    ("verb", "template", "status", "view", "many"),
    [
        ("get", f"{HOME}/issues", "200", IssueView, True),
        ("get", f"{HOME}/issues/{{issue_number}}", "200", IssueView, False),
        ("post", f"{HOME}/issues", "201", IssueView, False),
        ("patch", f"{HOME}/issues/{{issue_number}}", "200", IssueView, False),
        ("get", f"{HOME}/issues/{{issue_number}}/comments", "200", CommentView, True),
        ("patch", f"{HOME}/issues/comments/{{comment_id}}", "200", CommentView, False),
        ("get", f"{HOME}/issues/{{issue_number}}/events", "200", EventView, True),
        ("get", f"{HOME}/pulls/{{pull_number}}", "200", PullView, False),
    ],
)  # fmt: skip
def test_published_answers_are_understood(
    contract: Contract, verb: str, template: str, status: str, view: Any, many: bool
) -> None:
    examples = contract.examples(verb, template, status)
    assert examples
    for example in examples:
        assert all(isinstance(view.of(each), view) for each in (example if many else [example]))


def test_a_published_repository_is_understood(contract: Contract) -> None:
    examples = contract.examples("get", HOME)
    assert examples and all(isinstance(each["private"], bool) for each in examples)


def test_a_published_role_is_understood(contract: Contract) -> None:
    examples = contract.examples("get", f"{HOME}/collaborators/{{username}}/permission")
    assert [role(example) for example in examples] == ["admin"]
    assert role({"permission": "write", "role_name": "security-champion"}) == "write"
    assert role({"permission": "write", "role_name": "maintain"}) == "maintain"


def test_a_workflows_token_asks_who_looks(github_repo: Repository, proxy: faultproxy.Proxy) -> None:
    def instead(verb: str, path: str) -> tuple[int, dict[str, str], Any] | None:
        denied = 403, {}, {"message": "Resource not accessible by integration"}
        return denied if path == "/user" else _instead(verb, path)

    proxy.instead = instead
    assert opened(proxy, github_repo).login() == "github-actions[bot]"


def test_a_token_that_belongs_to_nobody_is_refused(github_repo: Repository, proxy: faultproxy.Proxy) -> None:
    denied = 403, {}, {"message": "Resource not accessible by integration"}
    proxy.instead = lambda verb, path: denied if path == "/user" else (200, {}, {"errors": [{"type": "FORBIDDEN"}]})
    with pytest.raises(UserError, match="does not say which user"):
        opened(proxy, github_repo)


def test_reactions_are_sent(github_repo: Repository, proxy: faultproxy.Proxy) -> None:
    opened(proxy, github_repo).react(17, "+1")
    seen = proxy.seen[-1]
    assert (seen.verb, seen.body) == ("POST", '{"content": "+1"}')
    assert seen.url.endswith("/issues/comments/17/reactions")
