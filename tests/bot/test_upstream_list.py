"""Bugs without an issue of their own: from a command to a comment under an issue of another repository."""

from __future__ import annotations

import pytest
from githubserver import BOT, Server, token_of
from hubs import hub_of, night
from issueworld import umbrella
from test_upstream_approval import Story

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.marker import digest
from nightfuzz.bot.issues.clusters import Umbrella
from nightfuzz.bot.issues.filings import DraftRecord, Filings
from nightfuzz.bot.issues.labels import APPROVE
from nightfuzz.bot.upstream.approval import BuildCheck

OLD = "Crashes on bad input\n"


class ListStory(Story):
    """The user's repository with an umbrella issue, and the library's own with the issue that collects such bugs."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self.ours = server.repository()
        self.hub = hub_of(self.ours, self.time)
        self.batch = umbrella("a", "b")
        self.filings = night(self.hub, Filings(), self.time, umbrellas=(self.batch,)).filings
        self.theirs.send("POST", "/issues", {"title": "Crashes on bad input", "body": OLD}, token_of("maintainer"))
        self.policy = self.policy._replace(umbrella=1)

    @property
    def batches(self) -> list[Umbrella]:
        return [self.batch]

    @property
    def record(self) -> DraftRecord:
        return self.filings.drafts[digest("umbrella", self.filings.issues[1].fingerprint)]

    @property
    def comments(self) -> list[str]:
        listed = self.theirs.all("/issues/1/comments")
        return [each["body"] for each in listed if each["user"]["login"] == BOT]


@pytest.fixture
def story(github_server: Server) -> ListStory:
    return ListStory(github_server)


def test_an_approved_list_becomes_one_comment_under_the_umbrella(story: ListStory) -> None:
    assert story.draft() == "drafted in #2"
    shown = story.ours.get("/issues/2")["body"]
    assert story.batch.comment in shown and f"`{story.theirs.name}#1`" in shown
    assert story.review().filed == () and story.comments == [], "not before a person approves"
    story.approve("writer")
    (url,) = story.review().filed
    [comment] = story.comments
    assert story.batch.comment in comment and "#issuecomment-" in url and url in story.said(1)
    assert story.reports == [] and story.theirs.get("/issues/1")["body"] == OLD
    assert story.review().filed == () and "already filed" in story.draft()


def test_a_longer_list_is_approved_again_and_takes_the_place_of_the_first(story: ListStory) -> None:
    story.draft()
    story.approve("writer")
    story.review()
    story.batch = umbrella("a", "b", "c")
    story.draft()
    assert story.review().filed == (), "the approval of the first list does not count"
    story.approve("writer")
    story.review()
    [comment] = story.comments
    assert "`torch.c`" in comment


def test_a_list_that_has_changed_since_is_not_written(story: ListStory) -> None:
    story.draft()
    story.approve("writer")
    story.batch = umbrella("a", "b", "c")
    assert story.review().filed == () and story.comments == []
    assert "the list has changed since" in story.said(2) and APPROVE not in story.labels()


def test_the_newest_build_has_to_show_each_bug_of_a_list(story: ListStory) -> None:
    story.draft()
    story.approve("writer")
    story.verified = BuildCheck(False, "3")
    assert story.review().filed == () and story.comments == [] and "does not show the bug" in story.said(2)


def test_a_closed_umbrella_gets_no_comment(story: ListStory) -> None:
    story.draft()
    story.approve("writer")
    story.theirs.send("PATCH", "/issues/1", {"state": "closed"}, token_of("maintainer"))
    assert story.review().filed == () and story.comments == [] and "is not open" in story.said(2)


def test_a_tracker_without_an_umbrella_gets_no_list(story: ListStory) -> None:
    story.policy = story.policy._replace(umbrella=0)
    with pytest.raises(UserError, match="collects bugs of torch that are not reported alone"):
        story.draft()


def test_a_tracker_that_says_no_gets_no_list(story: ListStory) -> None:
    story.policy = story.policy._replace(accepts=False)
    with pytest.raises(UserError, match="does not take reports of bugs that a fuzzer found"):
        story.draft()


def test_no_list_is_drafted_where_upstream_is_off(story: ListStory) -> None:
    with pytest.raises(UserError, match="are switched off"):
        story.draft("off")
