"""Errors of GitHub: the message of a refusal helps, rate limits are kept to, and waiting is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import faultproxy
import pytest
from clocks import FakeTime
from githubserver import Repository
from hypothesis import given
from hypothesis import strategies as st

from nightfuzz.bot.github.auth import TokenAuth
from nightfuzz.bot.github.budget import Budget, RateLimits, pause
from nightfuzz.bot.github.errors import GaveUpError, RefusedError, refusal
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import Marker
from nightfuzz.bot.github.redaction import Secret

BUG = Marker("bug", "0123456789abcdef" * 2)
START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def proxy(github_repo: Repository) -> Iterator[faultproxy.Proxy]:
    with faultproxy.fault_proxy(github_repo.server.url, faultproxy.Plan(1, {})) as running:
        yield running


def opened(proxy: faultproxy.Proxy, repo: Repository, time: FakeTime) -> Hub:
    auth = TokenAuth(Secret(repo.token))
    return Hub.open(auth, repo.name, proxy.url, budget=Budget(time.clock, time.sleep, RateLimits(in_all=1e9)))


@pytest.mark.parametrize(
    ("status", "headers", "message", "problem", "remedy"),
    [
        (401, {}, "Bad credentials", "wrong, expired or revoked", "make a new token"),
        (403, {}, "Resource not accessible by integration",
         "it lacks `issues: write`", "with the line `issues: write`"),
        (403, {"X-Accepted-GitHub-Permissions": "pull_requests=write"}, "Resource not accessible by integration",
         "it lacks `pull-requests: write`", "with the line `pull-requests: write`"),
        (403, {"X-Accepted-GitHub-Permissions": "issues=write; pull_requests=write,contents=read"}, "no",
         "it lacks `issues: write` or `pull-requests: write, contents: read`", "permissions:"),
        (403, {}, "Repository was archived so is read-only.", "is archived", "unarchive the repository"),
        (404, {}, "Not Found", "not found in", "check the name"),
        (410, {}, "Issues are disabled for this repo", "issues are disabled in", "Settings > General > Features"),
        (410, {}, "This issue was deleted", "the issue was deleted", "enable issues"),
        (422, {}, "Validation Failed", "refuses the content of the request", "bug of nightfuzz"),
        (307, {"Location": "/repositories/1"}, "Moved Permanently", "was moved or renamed", "new name"),
    ],
)  # fmt: skip
def test_refusals_say_what_to_do(
    proxy: faultproxy.Proxy,
    github_repo: Repository,
    status: int,
    headers: dict[str, str],
    message: str,
    problem: str,
    remedy: str,
) -> None:
    time = FakeTime()
    hub = opened(proxy, github_repo, time)
    answer = status, headers, {"message": message}
    proxy.instead = lambda verb, path: answer if verb == "POST" and path.endswith("/labels") else None
    with pytest.raises(RefusedError) as caught:
        hub.ensure_labels({"nightfuzz": ("5319e7", "d")}) if status != 422 else hub.add_labels(1, ["x"])
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert (caught.value.status, time.slept) == (status, [])
    assert sum(seen.verb == "POST" for seen in proxy.seen) == 1


def test_what_is_private_or_missing_looks_the_same(github_repo: Repository) -> None:
    """GitHub answers a token without access as if the repository did not exist."""
    with pytest.raises(RefusedError, match="or the token has no access") as caught:
        Hub.open(TokenAuth(Secret(github_repo.token)), "admin/secret", github_repo.server.url).is_private()
    assert "metadata: read" in caught.value.remedy


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.integers(300, 499), st.dictionaries(st.text(), st.text()), anything)
def test_any_refusal_becomes_an_error(status: int, headers: dict[str, str], data: Any) -> None:
    error = refusal(status, headers, data, "GET /x", "a/b", "issues: read")
    assert str(status) in error.problem
    assert len(error.problem) < 1000
    assert "\n" not in error.problem


@given(st.text(), st.text())
def test_any_header_of_accepted_permissions_is_read(name: str, value: str) -> None:
    headers = {"x-accepted-github-permissions": f"{name}={value}"}
    assert len(refusal(403, headers, None, "GET /x", "a/b", "issues: read").problem) < 1000


@pytest.mark.parametrize(
    ("status", "headers", "message", "seconds"),
    [
        (200, {"retry-after": "5"}, "", None),
        (403, {}, "Resource not accessible by integration", None),
        (403, {"retry-after": "5"}, "", 5.0),
        (429, {"retry-after": "0"}, "", 0.0),
        (429, {}, "", 60.0),
        (403, {}, "You have exceeded a secondary rate limit.", 60.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(START.timestamp()) + 30)}, "", 31.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(START.timestamp()) - 30)}, "", 1.0),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, "", 60.0),
        (403, {"x-ratelimit-remaining": "17", "x-ratelimit-reset": "1"}, "no", None),
        (429, {"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, "", 60.0),
        (429, {"retry-after": "9" * 40}, "", 60.0),
    ],
)
def test_how_long_an_answer_asks_to_wait(
    status: int, headers: dict[str, str], message: str, seconds: float | None
) -> None:
    assert pause(status, headers, message, START) == seconds


def test_writes_keep_their_distance(proxy: faultproxy.Proxy, github_repo: Repository) -> None:
    time = FakeTime(START)
    hub = opened(proxy, github_repo, time)
    hub.create_issue(BUG, "t", "b")
    assert sum(time.slept) == hub.budget.writes - 1


def _created(count: int, limits: RateLimits) -> tuple[Budget, list[datetime]]:
    time = FakeTime(START)
    budget, times = Budget(time.clock, time.sleep, limits), []
    for _ in range(count):
        budget.before_write(creates=True)
        times.append(time.now)
        budget.after("POST", {})
    return budget, times


@given(st.integers(1, 20), st.integers(1, 60), st.integers(1, 150))
def test_no_more_is_created_than_github_allows(a_minute: int, an_hour: int, count: int) -> None:
    limits = RateLimits(between_writes=0.5, a_minute=a_minute, an_hour=an_hour, in_all=1e9)
    _, times = _created(count, limits)
    for first, last in zip(times, times[a_minute:], strict=False):
        assert (last - first).total_seconds() >= 60
    for first, last in zip(times, times[an_hour:], strict=False):
        assert (last - first).total_seconds() >= 3600


def test_the_pace_is_not_slower_than_it_must_be() -> None:
    _, times = _created(81, RateLimits(between_writes=0.5))
    assert times[-1] - times[0] == timedelta(seconds=60)


def test_an_hours_allowance_is_more_than_we_wait_for() -> None:
    with pytest.raises(GaveUpError, match="500 things be created in 3600 s") as caught:
        _created(501, RateLimits(in_all=60.0 * 10))
    assert "from 2026-11-21 13:00 UTC on" in str(caught.value)


def test_the_allowance_is_shown() -> None:
    budget = Budget(lambda: START, lambda seconds: None, RateLimits())
    assert budget.text() == "0 requests (0 writes), 0 repeated, waited 0 s"
    reset = {"x-ratelimit-reset": str(int(START.timestamp()))}
    budget.after("GET", {"x-ratelimit-limit": "1000", "x-ratelimit-remaining": "963", **reset})
    budget.after("POST", {"x-ratelimit-limit": "30", "x-ratelimit-remaining": "2", "x-ratelimit-resource": "search"})
    assert budget.text().endswith("2 requests (1 writes), 0 repeated, waited 0 s; 963 of 1000 left until 12:00 UTC")


@pytest.mark.parametrize("body", [[], {}, "text", 5, None, {"number": "x"}, [{"number": 1}], {"items": 3}])
def test_answers_of_another_shape_are_no_answers(proxy: faultproxy.Proxy, github_repo: Repository, body: Any) -> None:
    time = FakeTime()
    hub = opened(proxy, github_repo, time)
    proxy.instead = lambda verb, path: (200, {}, body)
    for call in (lambda: hub.issue(1), lambda: hub.pull(1), hub.is_private, lambda: hub.search_issues("x")):
        with pytest.raises(GaveUpError, match="another shape"):
            call()


def test_an_issue_that_was_moved_away_is_no_longer_ours(proxy: faultproxy.Proxy, github_repo: Repository) -> None:
    hub = opened(proxy, github_repo, FakeTime())
    hub.create_issue(BUG, "t", "b")
    other = github_repo.server.repository()
    theirs = other.send("POST", "/issues", {"title": "t", "body": BUG.text}, github_repo.token)
    there = f"/repos/{other.name}/issues/{theirs['number']}"
    moved = 301, {"Location": proxy.url + there}, {"message": "Moved Permanently"}
    proxy.instead = lambda verb, path: moved if path == f"/repos/{github_repo.name}/issues/1" else None
    with pytest.raises(RefusedError, match="moved away") as caught:
        hub.issue(1)
    assert caught.value.status == 301
