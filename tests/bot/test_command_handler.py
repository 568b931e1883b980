"""Commands that people give in comments, on a GitHub server."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from clocks import FakeTime
from faultproxy import Plan, fault_proxy
from githubserver import BOT, Repository, token_of
from hubs import hub_of, night
from issueworld import START, cluster, fingerprint, umbrella

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.commands import CommandHandler, answer, answer_text
from nightfuzz.bot.issues.filings import CommandRequest, Filings, IssueRecord
from nightfuzz.bot.issues.labels import IGNORE


class CommentedRepository:
    """A repository in which issue 1 belongs to a bug and issue 2 is an umbrella."""

    def __init__(self, repo: Repository) -> None:
        self.repo, self.time = repo, FakeTime()
        self.hub = hub_of(repo, self.time)
        self.filings = night(self.hub, Filings(), self.time, cluster("a"), umbrellas=(umbrella("x"),)).filings
        self.drafts: list[int] = []

    def say(self, login: str, text: str, number: int = 1) -> int:
        made = self.repo.send("POST", f"/issues/{number}/comments", {"body": text}, token_of(login))
        return int(made["id"])

    def upstream(self, filed: IssueRecord, filings: Filings) -> tuple[Filings, str]:
        self.drafts.append(filed.number)
        raise UserError("upstream is off", "set it")

    def sweep(self) -> CommandHandler:
        handler = CommandHandler(self.hub, self.filings, self.upstream, self.time.now)
        handler.sweep(self.hub.issues())
        self.filings = handler.filings
        return handler

    def answer(self, number: int = 1) -> str:
        told = [each["body"] for each in self.repo.all(f"/issues/{number}/comments") if "asked for" in each["body"]]
        assert len(told) <= 1
        return "".join(told)


@pytest.fixture
def place(github_repo: Repository) -> CommentedRepository:
    return CommentedRepository(github_repo)


@pytest.mark.parametrize("login", ["maintainer", "writer", "admin"])
def test_a_fuzz_job_gets_what_people_with_write_access_ask_for(place: CommentedRepository, login: str) -> None:
    token = {"admin": "test_token_admin"}.get(login, token_of(login))
    place.repo.send("POST", "/issues/1/comments", {"body": "/nightfuzz bisect\n/nightfuzz minimise"}, token)
    place.sweep()
    assert [(each.kind, each.fingerprint, each.by) for each in place.filings.waiting] == [
        ("bisect", fingerprint("a"), login),
        ("minimize", fingerprint("a"), login),
    ]
    assert "`bisect`, asked for by `" + login in place.answer()


@pytest.mark.parametrize("login", ["stranger", "reader", "triager"])
def test_nobody_else_is_heard(place: CommentedRepository, login: str) -> None:
    place.say(login, "/nightfuzz ignore\n/nightfuzz bisect")
    place.sweep()
    assert (place.filings.waiting, place.answer()) == ((), "")
    assert len(place.repo.all("/issues/1/comments")) == 1
    assert IGNORE not in {label["name"] for label in place.repo.get("/issues/1")["labels"]}


def test_a_refusal_in_one_issue_stops_no_other(place: CommentedRepository) -> None:
    place.say("writer", "/nightfuzz bisect")
    place.say("writer", "/nightfuzz help", 2)
    with fault_proxy(place.repo.server.url, Plan(1, {})) as proxy:
        locked = f"/repos/{place.repo.name}/issues/1/comments"
        told: tuple[int, dict[str, str], Any] = (
            403,
            {},
            {"message": "The issue is locked."},
        )
        proxy.instead = lambda verb, path: told if (verb, path) == ("POST", locked) else None
        place.hub = hub_of(place.repo, place.time, proxy.url)
        handler = place.sweep()
    assert any("comments of issue 1" in problem and "locked" in problem for problem in handler.problems)
    assert [each.kind for each in place.filings.waiting] == ["bisect"]
    assert place.answer(1) == "" and "`help`" in place.answer(2)


def test_a_comment_is_handled_once(place: CommentedRepository) -> None:
    place.say("writer", "/nightfuzz ignore")
    place.sweep()
    assert IGNORE in {label["name"] for label in place.repo.get("/issues/1")["labels"]}
    assert place.filings.issues[1].teaching == "ignore"
    place.hub.remove_label(1, IGNORE)
    place.time.now += timedelta(minutes=1)
    place.sweep()
    assert IGNORE not in {label["name"] for label in place.repo.get("/issues/1")["labels"]}


def test_who_is_not_heard_hears_that_once(place: CommentedRepository) -> None:
    for _ in range(5):
        place.say("stranger", "/nightfuzz ignore")
    # The server has no reactions, so each attempt to add one is a problem.
    assert len(place.sweep().problems) == 1
    assert len(place.filings.handled) == 5


def test_the_bots_own_words_are_no_commands(place: CommentedRepository) -> None:
    place.repo.send("POST", "/issues/1/comments", {"body": "/nightfuzz bisect"}, place.repo.token)
    place.sweep()
    assert place.filings.requests == {}


def test_issues_of_others_are_none_of_ours(place: CommentedRepository) -> None:
    place.repo.send("POST", "/issues", {"title": "x", "labels": ["nightfuzz"]}, token_of("maintainer"))
    place.say("writer", "/nightfuzz ignore", 3)
    place.sweep()
    assert place.filings.requests == {}


def test_help_and_what_there_is_not(place: CommentedRepository) -> None:
    place.say("writer", "/nightfuzz dance `@everyone`")
    place.say("writer", "/nightfuzz bisect at once")
    place.sweep()
    assert place.filings.waiting == ()
    assert "bisect" in place.answer() and "@everyone" not in place.answer()


def test_a_list_of_bugs_can_be_ignored_but_not_bisected(place: CommentedRepository) -> None:
    place.say("writer", "/nightfuzz bisect\n/nightfuzz upstream\n/nightfuzz ignore", 2)
    place.sweep()
    assert (place.filings.waiting, place.drafts) == ((), [])
    assert "lists several bugs" in place.answer(2)
    assert IGNORE in {label["name"] for label in place.repo.get("/issues/2")["labels"]}


def test_upstream_is_asked_and_its_refusal_told(place: CommentedRepository) -> None:
    place.say("writer", "/nightfuzz upstream")
    place.sweep()
    assert place.drafts == [1] and "refused: upstream is off" in place.answer()


def test_an_event_is_handled_without_a_sweep(place: CommentedRepository) -> None:
    number = place.say("writer", "/nightfuzz retry")
    place.say("writer", "/nightfuzz bisect")
    handler = CommandHandler(place.hub, place.filings, place.upstream, place.time.now)
    handler.handle(1, number)
    assert [each.kind for each in handler.filings.waiting] == ["retry"]


def test_the_answer_is_updated_in_place(place: CommentedRepository) -> None:
    place.say("writer", "/nightfuzz bisect")
    place.sweep()
    (request,) = place.filings.waiting
    place.filings = place.filings.with_answer(request.key, "first bad build: <b>2.13</b>", place.time.now)
    answer(place.hub, place.filings, 1)
    assert "waits" not in place.answer() and r"\<b\>2.13" in place.answer()
    assert len({each["id"] for each in place.repo.all("/issues/1/comments") if each["user"]["login"] == BOT}) == 1


def test_many_answers_are_cut_to_the_latest() -> None:
    filings = Filings()
    for comment in range(1, 200):
        said = {"settled": True, "said": f"answer {comment}"}
        filings = filings.with_request(
            CommandRequest(
                kind="retry", fingerprint=fingerprint("a"), issue=1, comment=comment, by="x", at=START, **said
            )
        )
    assert "answer 199" in answer_text(filings, 1) and "answer 9 " not in answer_text(filings, 1)
    assert answer_text(filings, 2) == ""
