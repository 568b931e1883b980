"""Reports in another repository, from the command on, on a GitHub server: their text, their time and their approval."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from actioninputs import inputs
from clocks import FakeTime
from githubserver import BOT, Server, token_of
from hubs import elsewhere_of, hub_of, night
from issueworld import reportable

from fuzz_core.adapters.library import Disclosure
from fuzz_core.ir.errors import UserError
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.issues.clusters import ClusterReport, Umbrella
from nightfuzz.bot.issues.filings import DraftRecord, Filings
from nightfuzz.bot.issues.labels import APPROVE, DRAFT
from nightfuzz.bot.jobs.context import WorkflowEvent
from nightfuzz.bot.jobs.issues import _file_upstream
from nightfuzz.bot.upstream.approval import ApprovalResult, Approver, BuildCheck
from nightfuzz.bot.upstream.draft import Mode, write_draft


class Story:
    """The user's repository with the issue of one bug, and the library's own repository."""

    def __init__(self, server: Server) -> None:
        self.ours, self.theirs = server.repository(), server.repository()
        # In the library's repository, the bot has no rights.
        server.admin("DELETE", f"/repos/{self.theirs.name}/collaborators/{BOT}")
        self.time = FakeTime()
        self.hub = hub_of(self.ours, self.time)
        self.bug = reportable("a")
        self.filings = night(self.hub, Filings(), self.time, self.bug).filings
        self.policy = Disclosure(self.theirs.name, True, "ask first", {})
        self.verified = BuildCheck(True, "2")

    def draft(self, mode: Mode = "approved") -> str:
        record = self.filings.issues[1]
        self.filings, said = write_draft(
            self.hub, mode, self.known, self.wanted, self.batches, self.time.now, record, self.filings
        )
        return said

    def known(self, api: str) -> Disclosure:
        return self.policy

    @property
    def wanted(self) -> dict[str, ClusterReport]:
        return {self.bug.fingerprint: self.bug}

    @property
    def batches(self) -> list[Umbrella]:
        return []

    def approve(self, login: str) -> None:
        self.time.now += timedelta(minutes=1)
        self.ours.send("POST", f"/issues/{self.record.number}/labels", {"labels": [APPROVE]}, token_of(login))

    def review(self) -> ApprovalResult:
        approver = Approver(
            self.hub, self.known, self.wanted, self.batches,
            lambda name: elsewhere_of(self.theirs, self.hub, self.time), lambda fingerprint: self.verified,
            self.time.now,
        )  # fmt: skip
        reviewed = approver.review(self.filings)
        self.filings = reviewed.filings
        return reviewed

    @property
    def record(self) -> DraftRecord:
        return self.filings.drafts[self.bug.fingerprint]

    @property
    def reports(self) -> list[dict[str, Any]]:
        return [each for each in self.theirs.all("/issues?state=all") if each["user"]["login"] == BOT]

    def labels(self) -> set[str]:
        return {label["name"] for label in self.ours.get(f"/issues/{self.record.number}")["labels"]}

    def said(self, number: int) -> str:
        return "\n".join(each["body"] for each in self.ours.all(f"/issues/{number}/comments"))


@pytest.fixture
def story(github_server: Server) -> Story:
    return Story(github_server)


def test_what_a_person_approved_is_filed_once_and_linked_both_ways(story: Story) -> None:
    assert story.draft() == "drafted in #2"
    assert story.reports == []
    assert story.review().filed == ()
    story.approve("writer")
    (url,) = story.review().filed
    (report,) = story.reports
    assert report["title"] == story.bug.title
    assert story.bug.body.strip() in report["body"] and story.filings.issues[1].url in report["body"]
    assert url in story.said(1) and url in story.said(2)
    assert story.ours.get("/issues/2")["state"] == "closed"
    assert story.review().filed == () and "already filed" in story.draft()


def test_the_exact_text_is_in_the_draft(story: Story) -> None:
    story.draft()
    shown = story.ours.get("/issues/2")
    assert story.bug.body.strip() in shown["body"] and story.labels() == {DRAFT}


@pytest.mark.parametrize("login", ["triager", BOT])
def test_who_may_label_but_not_write_approves_nothing(story: Story, login: str) -> None:
    story.draft()
    story.approve(login)
    story.review()
    assert (story.reports, APPROVE in story.labels()) == ([], False)
    assert "write access" in story.said(2)


def test_a_text_that_was_edited_is_not_filed(story: Story) -> None:
    story.draft()
    body = story.ours.get("/issues/2")["body"].replace("no such thing", "pwned")
    story.ours.send("PATCH", "/issues/2", {"body": body}, token_of("maintainer"))
    story.approve("maintainer")
    story.review()
    assert story.reports == [] and "text of this draft has changed" in story.said(2)


def test_a_draft_that_is_made_again_has_to_be_approved_again(story: Story) -> None:
    story.draft()
    story.approve("writer")
    story.bug = story.bug._replace(body=story.bug.body.replace("5 of 5", "4 of 5"))
    assert story.draft() == "drafted in #2"
    assert APPROVE not in story.labels()
    assert story.review().filed == ()
    story.approve("writer")
    assert len(story.review().filed) == 1 and "4 of 5" in story.reports[0]["body"]


@pytest.mark.parametrize("more", [{"private": True}, {"known": True}, {"status": "fixed"}, {"validity": "invalid"}])
def test_what_has_changed_since_is_not_filed(story: Story, more: dict[str, Any]) -> None:
    story.draft()
    story.approve("writer")
    story.bug = story.bug._replace(**more)
    story.review()
    assert story.reports == [] and "Not filed" in story.said(2)


def test_the_newest_build_has_to_show_it(story: Story) -> None:
    story.draft()
    story.approve("writer")
    story.verified = BuildCheck(None)
    story.review()
    assert APPROVE in story.labels() and "The next run does that" in story.said(2)
    story.verified = BuildCheck(False, "3")
    story.review()
    assert story.reports == [] and APPROVE not in story.labels() and "does not show the bug" in story.said(2)


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("fakelib.a(0): RuntimeError: no such thing as 'x' in the table", ""),
        ("Crash in a", "I see this:\n\n    RuntimeError: no such thing as 7 in the table"),
        ("`fakelib.a` hits an internal assert", "on my machine"),
    ],
)
def test_what_is_reported_already_is_shown_and_filed_on_a_second_word(story: Story, title: str, body: str) -> None:
    story.theirs.send("POST", "/issues", {"title": title, "body": body}, token_of("stranger"))
    story.draft()
    assert f"`{story.theirs.name}#1`" in story.ours.get("/issues/2")["body"], "the person who approves sees it first"
    story.approve("writer")
    story.review()
    assert story.reports == [] and f"`{story.theirs.name}#1`" in story.said(2)
    story.approve("writer")
    assert len(story.review().filed) == 1


@pytest.mark.parametrize("title", ["fakelib.a is slow", "fakelib.b: internal error", "a crash: internal assert"])
def test_other_reports_are_no_duplicates(story: Story, title: str) -> None:
    story.theirs.send("POST", "/issues", {"title": title, "body": "very"}, token_of("stranger"))
    story.draft()
    story.approve("writer")
    assert len(story.review().filed) == 1


def test_a_run_that_died_after_filing_is_taken_up(story: Story) -> None:
    story.draft()
    story.approve("writer")
    before = story.filings
    (url,) = story.review().filed
    story.filings = before
    story.ours.send("PATCH", "/issues/2", {"state": "open"})
    assert story.review().filed == (url,) and len(story.reports) == 1


def test_no_draft_is_made_where_upstream_is_off(story: Story) -> None:
    with pytest.raises(UserError, match="are switched off"):
        story.draft("off")
    assert story.draft("draft") == "drafted in #2"


@pytest.mark.parametrize("upstream", ["off", "draft"])
def test_an_approved_draft_is_filed_by_a_run_with_the_input_approved_alone(
    story: Story, tmp_path: Path, upstream: str
) -> None:
    story.draft("draft")
    story.approve("writer")
    given, event = inputs(mode="report", upstream=upstream, github_token="x"), WorkflowEvent("o/r")
    with open_store(tmp_path / "state.db") as store:
        done = _file_upstream(given, event, story.hub, store, [story.bug], [], story.filings, story.time.now)
    assert (story.reports, done.filed, done.filings) == ([], (), story.filings)


def test_a_tracker_that_says_no_gets_no_draft(story: Story) -> None:
    story.policy = story.policy._replace(accepts=False)
    with pytest.raises(UserError, match="does not take reports of bugs that a fuzzer found"):
        story.draft()
    assert len(story.ours.all("/issues?state=all")) == 1


def test_a_tracker_that_has_moved_gets_a_draft_of_its_own(story: Story) -> None:
    story.draft()
    story.approve("writer")
    story.policy = story.policy._replace(repository="another/place")
    story.review()
    assert story.reports == [] and "`another/place`" in story.said(2)


def test_what_cannot_be_filed_is_told_and_stays_approved(story: Story) -> None:
    story.draft()
    story.approve("writer")
    story.theirs.send("PATCH", "", {"has_issues": False})
    reviewed = story.review()
    assert (reviewed.filed, len(reviewed.problems), APPROVE in story.labels()) == ((), 1, True)
    story.theirs.send("PATCH", "", {"has_issues": True})
    assert len(story.review().filed) == 1


def test_a_strangers_copy_of_a_draft_is_none(story: Story) -> None:
    story.draft()
    body = story.ours.get("/issues/2")["body"]
    story.ours.send("POST", "/issues", {"title": "Draft", "body": body}, token_of("stranger"))
    story.ours.send("POST", "/issues/3/labels", {"labels": [APPROVE]}, token_of("writer"))
    assert story.review().filed == ()
