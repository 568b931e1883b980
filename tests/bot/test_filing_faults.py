"""Faults of a request, of a runner or of two runners: each finding has exactly one issue."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import faultproxy
import filer
import githubserver
import pytest
from clocks import FakeTime
from githubserver import Repository

from bench.filings import measured
from nightfuzz.bot.github.auth import TokenAuth
from nightfuzz.bot.github.budget import Budget, RateLimits
from nightfuzz.bot.github.errors import GaveUpError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import Marker, parsed
from nightfuzz.bot.github.redaction import Secret

ROOT = Path(__file__).resolve().parents[2]
ID = "0123456789abcdef" * 2
BUG = Marker("bug", ID)
CLAIM = f"nightfuzz:filing-{ID}"


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def proxy(github_repo: Repository, time: FakeTime) -> Iterator[faultproxy.Proxy]:
    """A proxy before the server, without a fault until a test plans one."""
    with faultproxy.fault_proxy(github_repo.server.url, faultproxy.Plan(1, {}), time.clock) as running:
        yield running


def opened(proxy: faultproxy.Proxy, repo: Repository, time: FakeTime, **more: float) -> Hub:
    auth, limits = TokenAuth(Secret(repo.token)), RateLimits(**{"in_all": 1e9, **more})  # type: ignore[arg-type]
    budget = Budget(time.clock, time.sleep, limits, random.Random(1))
    return Hub.open(auth, repo.name, proxy.url, budget=budget)


def filed(repo: Repository) -> Counter[str]:
    """Returns how many issues carry each marker."""
    return Counter(marker.id for issue in repo.all("/issues?state=all") if (marker := parsed(issue["body"])))


@pytest.mark.parametrize("seed", [1, 2])
def test_many_faults_make_no_duplicate_and_lose_nothing(github_server: githubserver.Server, seed: int) -> None:
    result = measured(github_server, filings=20, faults=200, seed=seed)
    assert sum(result.injected.values()) == 200
    assert set(result.injected) == set(faultproxy.ALL)
    assert (result.filed, result.duplicates, result.lost) == (20, 0, 0)
    assert (result.comment_duplicates, result.comments_lost, result.left_claims) == (0, 0, 0)
    assert result.leaks == []
    assert result.raised == {}


@pytest.mark.parametrize("fault", faultproxy.ANY + faultproxy.WRITES)
def test_the_one_request_that_files_fails(
    github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime, fault: str
) -> None:
    hub = opened(proxy, github_repo, time)
    hub.create_issue(Marker("bug", "0" * 32), "the first", "b")

    def arm(verb: str, path: str) -> bool:
        # This is the last request before the one that files.
        if verb == "PATCH" and path.endswith("/issues/3") and not proxy.injected:
            proxy.plan = faultproxy.Plan(1, {fault: 1}, density=1.0)
        return False

    proxy.forwarded = arm
    made = hub.create_issue(BUG, "the second", "b")
    assert proxy.injected == {fault: 1}
    assert made.number == 2
    assert filed(github_repo) == {"0" * 32: 1, ID: 1}


def test_old_listings_hide_nothing(github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime) -> None:
    """Another runner files an issue; this runner gets only listings from before."""
    blind = opened(proxy, github_repo, time)
    assert blind.find_issue(ID) is None
    old = dict.fromkeys((f"/repos/{github_repo.name}/issues",), b"[]")
    other = opened(proxy, github_repo, time)
    number = other.create_issue(BUG, "the other's", "b").number
    proxy.rewrite = lambda path, body: old.get(path, body)
    assert blind.create_issue(BUG, "again", "b").number == number
    proxy.rewrite = lambda path, body: body
    assert filed(github_repo) == {ID: 1}


def test_the_answer_of_github_being_away_for_long_is_an_error(
    github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime
) -> None:
    hub = opened(proxy, github_repo, time, a_call=100.0)
    proxy.plan = faultproxy.Plan(1, {"5xx-before": 10_000}, density=1.0)
    with pytest.raises(GaveUpError, match="all writes so far are kept"):
        hub.create_issue(BUG, "t", "b")
    assert sum(time.slept) <= 100
    proxy.plan = faultproxy.Plan(1, {})
    assert hub.create_issue(BUG, "t", "b").number == 1


def test_all_waiting_together_is_bounded(github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime) -> None:
    hub = opened(proxy, github_repo, time, in_all=50.0)
    proxy.plan = faultproxy.Plan(1, {"secondary": 10_000}, density=1.0)
    with pytest.raises(GaveUpError, match="gave up on GitHub after"):
        hub.issues()
    assert sum(time.slept) <= 50


def test_an_address_where_nobody_answers_is_given_up_soon(github_repo: Repository, time: FakeTime) -> None:
    auth = TokenAuth(Secret(github_repo.token))
    with pytest.raises(GaveUpError, match=r"no answer from http://127\.0\.0\.1:9 "):
        Hub.open(auth, github_repo.name, "http://127.0.0.1:9", budget=Budget(time.clock, time.sleep))
    assert sum(time.slept) <= 120


def test_retry_after_is_honoured(github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime) -> None:
    hub = opened(proxy, github_repo, time)
    proxy.plan = faultproxy.Plan(1, {"secondary": 1}, density=1.0)
    hub.issues()
    assert time.slept == proxy.asked_to_wait


def test_two_runners_at_once_file_each_finding_once(github_repo: Repository) -> None:
    arguments = [github_repo.server.url, github_repo.name, github_repo.token, "20"]
    command = [sys.executable, filer.__file__, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    runners = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
        for _ in range(2)
    ]
    said = [runner.communicate(timeout=120) for runner in runners]
    assert [runner.returncode for runner in runners] == [0, 0], said
    assert said[0][0] == said[1][0]
    assert filed(github_repo) == {f"{at:032x}": 1 for at in range(20)}
    assert [len(github_repo.all(f"/issues/{number}/comments")) for number in range(1, 21)] == [1] * 20
    assert github_repo.all("/labels") == []


@pytest.mark.parametrize(
    ("verb", "path", "there"),
    [
        ("POST", "/labels", False),
        ("PATCH", "/issues/2", False),
        ("POST", "/issues", True),
        ("DELETE", f"filing-{0:032x}", True),
    ],
)  # fmt: skip
def test_a_runner_killed_at_any_point_leaves_nothing_twice(
    github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime, verb: str, path: str, there: bool
) -> None:
    """The runner is killed when the server has done the request and before the answer arrives; then it runs again."""
    process = _started(proxy, github_repo)

    def kill(asked: str, at: str) -> bool:
        hit = asked == verb and at.endswith(path)
        if hit:
            os.kill(process.pid, signal.SIGKILL)
        return hit

    proxy.forwarded = kill
    process.communicate("go\n", timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert filed(github_repo) == ({f"{0:032x}": 1} if there else {})
    proxy.forwarded = lambda asked, at: False
    hub = opened(proxy, github_repo, time)
    assert hub.create_issue(Marker("bug", f"{0:032x}"), "finding 0", "b").number == 1
    assert filed(github_repo) == {f"{0:032x}": 1}


def _started(proxy: faultproxy.Proxy, repo: Repository) -> subprocess.Popen[str]:
    """Starts the filer, which waits for a line of input before it works."""
    start = "import sys; input(); import filer; filer.main(*sys.argv[1:])"
    command = [sys.executable, "-c", start, proxy.url, repo.name, repo.token, "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(filer.__file__).parent)])}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment, text=True)


def test_a_claim_that_was_left_is_taken_over_and_one_in_use_is_not(
    github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime
) -> None:
    words = {"name": CLAIM, "color": "ededed", "description": "nightfuzz is writing (2026-11-21T13:00Z someone)"}
    github_repo.send("POST", "/labels", words)
    hub = opened(proxy, github_repo, time)
    hub.create_issue(BUG, "t", "b")
    assert 120 <= sum(time.slept) < 180
    assert github_repo.all("/labels") == []


def test_who_was_silent_for_too_long_asks_again_before_it_writes(
    github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime
) -> None:
    """Our runner sleeps after its look-up; meanwhile another one takes over and files."""
    hub = opened(proxy, github_repo, time)
    once: list[str] = []

    def interfere(verb: str, path: str) -> bool:
        if verb == "PATCH" and path.endswith("/issues/2") and not once:
            once.append(path)
            time.now += timedelta(minutes=10)
            github_repo.send("DELETE", f"/labels/{CLAIM.replace(':', '%3A')}", None)
            github_repo.send("POST", "/issues", {"title": "theirs", "body": BUG.text}, github_repo.token)
        return False

    proxy.forwarded = interfere
    assert hub.create_issue(BUG, "ours", "b").title == "theirs"
    assert filed(github_repo) == {ID: 1}


def test_claims_left_for_a_day_are_swept(github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime) -> None:
    for name, when in (("a", time.now - timedelta(days=2)), ("b", time.now - timedelta(hours=2))):
        words = f"nightfuzz is writing this very moment ({when:%Y-%m-%dT%H:%MZ} x)"
        github_repo.send("POST", "/labels", {"name": f"nightfuzz:filing-{name}", "description": words})
    github_repo.send("POST", "/labels", {"name": "nightfuzz:filing-odd", "description": "somebody's own"})
    opened(proxy, github_repo, time).ensure_labels({})
    left = {label["name"] for label in github_repo.all("/labels")}
    assert left == {"nightfuzz:filing-b", "nightfuzz:filing-odd"}


def test_an_accident_is_repaired(github_repo: Repository, proxy: faultproxy.Proxy, time: FakeTime) -> None:
    """Another writer ignores the claim and files while we do: the younger issue is closed and links the older one."""
    hub = opened(proxy, github_repo, time)
    once: list[str] = []

    def interfere(verb: str, path: str) -> bool:
        if verb == "PATCH" and path.endswith("/issues/2") and not once:
            once.append(path)
            github_repo.send("POST", "/issues", {"title": "theirs", "body": BUG.text}, github_repo.token)
        return False

    proxy.forwarded = interfere
    assert hub.create_issue(BUG, "ours", "b").title == "theirs"
    ours = github_repo.get("/issues/2")
    assert (ours["state"], "see #1" in ours["body"]) == ("closed", True)
    assert opened(proxy, github_repo, time).create_issue(BUG, "later", "b").number == 1
