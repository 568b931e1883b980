"""Another repository: one report despite faults of requests, and private reports only if the repository takes them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import faultproxy
import pytest
from clocks import FakeTime
from githubserver import BOT, Repository, token_of
from openapi import Contract

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.auth import TokenAuth
from nightfuzz.bot.github.budget import Budget, RateLimits
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import Marker, parsed
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.upstream.advisory import report_privately

REPORT = Marker("report", "0123456789abcdef" * 2)


class TwoRepositories:
    """Our repository; a foreign one, in which the bot has no rights; and a proxy before the server."""

    def __init__(self, ours: Repository, proxy: faultproxy.Proxy, time: FakeTime) -> None:
        self.ours, self.theirs, self.proxy, self.time = ours, ours.server.repository(), proxy, time
        ours.server.admin("DELETE", f"/repos/{self.theirs.name}/collaborators/{BOT}")
        self.tracker = self.open()

    def open(self) -> Hub:
        return self._open(self.theirs, self._open(self.ours))

    def _open(self, repo: Repository, home: Hub | None = None) -> Hub:
        budget = Budget(self.time.clock, self.time.sleep, RateLimits(in_all=1e9), random.Random(1))
        return Hub.open(TokenAuth(Secret(self.ours.token)), repo.name, self.proxy.url, home=home, budget=budget)

    def on_filing(self, fault: str) -> None:
        """Lets one request fail: the one that files, which follows the second look."""
        looks = 0

        def arm(verb: str, path: str) -> bool:
            nonlocal looks
            looks += verb == "GET" and path == f"/repos/{self.theirs.name}/issues"
            if looks == 2 and not self.proxy.injected:
                self.proxy.plan = faultproxy.Plan(1, {fault: 1}, density=1.0)
            return False

        self.proxy.forwarded = arm

    @property
    def reports(self) -> list[dict[str, Any]]:
        return self.theirs.all("/issues?state=all")


@pytest.fixture
def place(github_repo: Repository) -> Iterator[TwoRepositories]:
    time = FakeTime()
    with faultproxy.fault_proxy(github_repo.server.url, faultproxy.Plan(1, {}), time.clock) as proxy:
        yield TwoRepositories(github_repo, proxy, time)


def test_a_report_is_filed_once_and_found_again(place: TwoRepositories) -> None:
    first = place.tracker.create_issue(REPORT, "a title", "a body")
    assert parsed(first.body) == REPORT
    assert place.tracker.create_issue(REPORT, "another", "b").number == first.number
    assert place.open().create_issue(REPORT, "a third", "c").number == first.number
    assert len(place.reports) == 1


def test_a_strangers_marker_is_not_ours(place: TwoRepositories) -> None:
    place.theirs.send("POST", "/issues", {"title": "x", "body": REPORT.text}, token_of("stranger"))
    assert place.tracker.find_issue(REPORT.id) is None
    assert place.tracker.create_issue(REPORT, "ours", "b").number == 2


@pytest.mark.parametrize("fault", faultproxy.ANY + faultproxy.WRITES)
def test_the_one_request_that_files_fails(place: TwoRepositories, fault: str) -> None:
    place.on_filing(fault)
    assert place.tracker.create_issue(REPORT, "a title", "b").title == "a title"
    assert place.proxy.injected == {fault: 1}
    assert len(place.reports) == 1


def test_many_faults_make_one_report(place: TwoRepositories) -> None:
    faults = dict.fromkeys(set(faultproxy.ALL) - {"stale"}, 3)
    place.proxy.plan = faultproxy.Plan(7, faults, density=0.6)
    for _ in range(5):
        place.open().create_issue(REPORT, "a title", "b")
    assert sum(place.proxy.injected.values()) > 10
    place.proxy.plan = faultproxy.Plan(1, {})
    assert len(place.reports) == 1
    assert place.proxy.leaks(place.ours.token) == []


def test_it_makes_nothing_there_but_the_report(place: TwoRepositories) -> None:
    place.tracker.create_issue(REPORT, "a title", "b")
    place.tracker.search_issues('"a title"')
    writes = [seen for seen in place.proxy.seen if seen.verb != "GET" and f"/{place.theirs.name}/" in seen.url]
    assert [seen.verb for seen in writes] == ["POST"]


def advisories(place: TwoRepositories, enabled: Any, status: int = 201) -> None:
    def instead(verb: str, path: str) -> tuple[int, dict[str, str], Any] | None:
        if path.endswith("/private-vulnerability-reporting"):
            return (200, {}, {"enabled": enabled}) if enabled is not None else (404, {}, {"message": "Not Found"})
        if path.endswith("/security-advisories/reports"):
            return status, {}, {"html_url": "https://github.test/advisories/1"}
        return None

    place.proxy.instead = instead


def sent(place: TwoRepositories) -> list[faultproxy.ProxiedRequest]:
    return [seen for seen in place.proxy.seen if "security-advisories" in seen.url]


def test_a_private_report_goes_where_it_is_taken(place: TwoRepositories) -> None:
    advisories(place, True)
    assert report_privately(place.tracker, "a title", "a body") == "https://github.test/advisories/1"
    assert len(sent(place)) == 1 and place.reports == []


@pytest.mark.parametrize("enabled", [False, None])
def test_where_it_is_not_taken_nothing_is_sent(place: TwoRepositories, enabled: bool | None) -> None:
    advisories(place, enabled)
    assert not place.tracker.takes_private_reports()
    with pytest.raises(UserError, match="follow the steps"):
        report_privately(place.tracker, "a title", "a body")
    assert sent(place) == []


def test_a_private_report_of_unknown_fate_is_not_sent_again(place: TwoRepositories) -> None:
    advisories(place, True, 502)
    with pytest.raises(UserError, match="may or may not have arrived"):
        report_privately(place.tracker, "a title", "a body")
    assert len(sent(place)) == 1


def test_every_request_is_in_githubs_description(place: TwoRepositories, github_openapi: Any) -> None:
    advisories(place, True)
    place.tracker.create_issue(REPORT, "a title", "b")
    place.tracker.search_issues('"a title"')
    report_privately(place.tracker, "a title", "a body")
    contract = Contract(github_openapi)
    assert [wrong for seen in place.proxy.seen for wrong in contract.problems(seen.verb, seen.url, seen.body)] == []
