"""Every method of the Hub against the GitHub server."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from clocks import FakeTime
from githubserver import BOT, Repository, token_of

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.github.auth import TokenAuth
from nightfuzz.bot.github.budget import Budget, RateLimits
from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import Marker, parsed
from nightfuzz.bot.github.redaction import Secret

Opened = Callable[..., Hub]
ID = "0123456789abcdef" * 2
OTHER = "fedcba9876543210" * 2
BUG = Marker("bug", ID)


@pytest.fixture
def hub(github_repo: Repository) -> Hub:
    """The bot in a fresh repository, with a clock that moves only while the bot waits."""
    return opened(github_repo)


def opened(repo: Repository, token: str | None = None, time: FakeTime | None = None) -> Hub:
    time = time or FakeTime()
    auth = TokenAuth(Secret(token or repo.token))
    budget = Budget(time.clock, time.sleep, RateLimits(in_all=1e9), random.Random(1))
    return Hub.open(auth, repo.name, repo.server.url, budget=budget)


def test_knows_who_it_is_and_where(hub: Hub, github_repo: Repository) -> None:
    assert hub.login() == BOT
    assert not hub.is_private()


def test_an_issue_is_filed_with_its_marker_and_read_back(hub: Hub, github_repo: Repository) -> None:
    made = hub.create_issue(BUG, "a title", "the body\n", ["bug", "torch"])
    assert (made.number, made.title, made.state, made.author) == (1, "a title", "open", BOT)
    assert set(made.labels) == {"bug", "torch"}
    assert parsed(made.body) == BUG
    assert "the body" in made.body
    assert hub.issue(1) == made
    assert hub.issues() == [made]
    assert len(github_repo.all("/issues?state=all")) == 1


def test_filing_again_finds_the_first(hub: Hub, github_repo: Repository) -> None:
    first = hub.create_issue(BUG, "a title", "a")
    assert hub.create_issue(BUG, "another title", "b").number == first.number
    assert opened(github_repo).create_issue(BUG, "a third", "c").number == first.number
    hub.edit_issue(first.number, state="closed", state_reason="not_planned")
    assert opened(github_repo).create_issue(BUG, "a fourth", "d").state == "closed"
    assert len(github_repo.all("/issues?state=all")) == 1


def test_what_an_issue_covers_is_not_filed_again(hub: Hub) -> None:
    first = hub.create_issue(Marker("bug", ID, (OTHER,)), "both", "a")
    assert hub.create_issue(Marker("bug", OTHER), "one", "b").number == first.number
    assert hub.create_issue(BUG, "the other", "c").number == first.number
    assert hub.create_issue(Marker("bug", "0" * 32), "none of them", "d").number != first.number


def test_a_strangers_marker_does_not_count(hub: Hub, github_repo: Repository) -> None:
    theirs = github_repo.send("POST", "/issues", {"title": "x", "body": BUG.text}, token_of("stranger"))
    ours = hub.create_issue(BUG, "ours", "b")
    assert ours.number != theirs["number"]


def test_no_claim_is_left(hub: Hub, github_repo: Repository) -> None:
    hub.create_issue(BUG, "t", "b")
    hub.upsert_comment(1, BUG, "c")
    assert github_repo.all("/labels") == []


def test_edits(hub: Hub) -> None:
    hub.create_issue(BUG, "t", "b")
    closed = hub.edit_issue(1, title="new", state="closed", state_reason="completed")
    assert (closed.title, closed.state, closed.state_reason) == ("new", "closed", "completed")
    assert closed.closed_at is not None
    reopened = hub.edit_issue(1, state="open")
    assert (reopened.state, reopened.closed_at) == ("open", None)


def test_who_closed_and_labelled(hub: Hub, github_repo: Repository) -> None:
    hub.create_issue(BUG, "t", "b")
    github_repo.send("POST", "/issues/1/labels", {"labels": ["nightfuzz:ignore"]}, token_of("writer"))
    github_repo.send("PATCH", "/issues/1", {"state": "closed"}, token_of("maintainer"))
    assert [event.actor for event in hub.events(1) if event.event == "closed"] == ["maintainer"]
    labelled = [(event.actor, event.label) for event in hub.events(1) if event.event == "labeled"]
    assert ("writer", "nightfuzz:ignore") in labelled


def test_listings_filter(hub: Hub) -> None:
    for at in range(3):
        hub.create_issue(Marker("bug", f"{at:032x}"), f"t{at}", "b", ["odd"] if at % 2 else ["even"])
    hub.edit_issue(1, state="closed")
    assert [view.number for view in hub.issues(label="even")] == [1, 3]
    assert [view.number for view in hub.issues() if view.state == "open"] == [2, 3]


def test_listings_have_more_than_one_page(hub: Hub, github_repo: Repository) -> None:
    for at in range(103):
        github_repo.send("POST", "/issues", {"title": f"t{at}"}, github_repo.token)
    assert [view.number for view in hub.issues()] == list(range(1, 104))
    for at in range(101):
        github_repo.send("POST", "/issues/1/comments", {"body": f"c{at}"}, github_repo.token)
    assert [comment.body for comment in hub.comments(1)] == [f"c{at}" for at in range(101)]
    assert hub.create_issue(BUG, "t", "b").number == 104
    assert hub.create_issue(BUG, "t", "b").number == 104


def test_labels(hub: Hub, github_repo: Repository) -> None:
    wanted = {"nightfuzz": ("5319e7", "Found by fuzzing"), "nightfuzz: wrong/odd": ("ff0000", "No bug")}
    hub.ensure_labels(wanted)
    hub.ensure_labels(wanted)
    there = {label["name"]: (label["color"], label["description"]) for label in github_repo.all("/labels")}
    assert there == wanted
    hub.create_issue(BUG, "t", "b", ["nightfuzz"])
    hub.add_labels(1, ["nightfuzz: wrong/odd", "nightfuzz"])
    assert {label["name"] for label in github_repo.get("/issues/1")["labels"]} == set(wanted)
    hub.remove_label(1, "nightfuzz: wrong/odd")
    hub.remove_label(1, "nightfuzz: wrong/odd")
    view = hub.issue(1)
    assert view is not None
    assert view.labels == ("nightfuzz",)


@pytest.mark.parametrize("by", ["add", "create"])
def test_a_label_deleted_under_way_is_made_again(hub: Hub, github_repo: Repository, by: str) -> None:
    hub.ensure_labels({"nightfuzz": ("5319e7", "Found by fuzzing")})
    hub.create_issue(Marker("bug", OTHER), "t", "b")
    github_repo.send("DELETE", "/labels/nightfuzz", None)
    if by == "add":
        hub.add_labels(1, ["nightfuzz"])
    else:
        hub.create_issue(BUG, "t", "b", ["nightfuzz"])
    made = github_repo.get("/labels/nightfuzz")
    assert (made["color"], made["description"]) == ("5319e7", "Found by fuzzing")


def test_one_comment_per_marker(hub: Hub, github_repo: Repository) -> None:
    hub.create_issue(BUG, "t", "b")
    first = hub.upsert_comment(1, Marker("recurrence", ID), "once")
    second = opened(github_repo).upsert_comment(1, Marker("recurrence", ID), "twice")
    other = hub.upsert_comment(1, Marker("fixed", ID), "gone")
    assert first.id == second.id != other.id
    assert [comment.id for comment in hub.comments(1)] == [first.id, other.id]
    assert "twice" in second.body


def test_somebody_elses_comment_stays(hub: Hub, github_repo: Repository) -> None:
    hub.create_issue(BUG, "t", "b")
    theirs = github_repo.send("POST", "/issues/1/comments", {"body": f"{BUG.text}\nhm"}, token_of("stranger"))
    ours = hub.upsert_comment(1, BUG, "c")
    assert ours.id != theirs["id"]
    assert [comment.id for comment in hub.comments(1)] == [theirs["id"], ours.id]


def test_comments_that_an_accident_doubled_become_one(hub: Hub, github_repo: Repository) -> None:
    hub.create_issue(BUG, "t", "b")
    for text in ("a", "b", "c"):
        github_repo.send("POST", "/issues/1/comments", {"body": f"{BUG.text}\n{text}"}, github_repo.token)
    first = hub.comments(1)[0]
    assert hub.upsert_comment(1, BUG, "d").id == first.id
    assert len(hub.comments(1)) == 1


@pytest.mark.parametrize(
    ("login", "role"),
    [
        ("admin", "admin"), ("maintainer", "maintain"), ("writer", "write"), ("triager", "triage"),
        ("stranger", "none"), ("nobody-of-that-name", "none"), ("../../user", "none"),
    ],
)  # fmt: skip
def test_permissions(hub: Hub, login: str, role: str) -> None:
    assert hub.permission(login) == role


def test_search(hub: Hub, github_repo: Repository) -> None:
    hub.create_issue(BUG, "torch.nn.Conv2d crashes", "INTERNAL ASSERT FAILED")
    assert [view.number for view in hub.search_issues(f"repo:{github_repo.name} Conv2d in:title")] == [1]
    assert hub.search_issues(f"repo:{github_repo.name} no such words") == []


def annotation(line: int, message: str) -> dict[str, str | int]:
    place = {"path": "a.py", "start_line": line, "end_line": line}
    return {**place, "annotation_level": "warning", "message": message, "title": ""}


def _head(repo: Repository) -> str:
    return str(repo.get("/branches/main")["commit"]["sha"])


def test_checks_are_made_once(hub: Hub, github_repo: Repository) -> None:
    sha = _head(github_repo)
    notes = [annotation(at + 1, f"m{at}") for at in range(50)]
    number = hub.check_run(sha, "nightfuzz", "failure", "2 regressions", "the summary", notes)
    assert hub.check_run(sha, "nightfuzz", "failure", "2 regressions", "the summary", notes[:1]) != number
    short = hub.check_run(sha, "nightfuzz", "success", "none", "the summary")
    assert hub.check_run(sha, "nightfuzz", "success", "none", "the summary") == short
    runs = github_repo.get(f"/commits/{sha}/check-runs?filter=all")["check_runs"]
    assert sorted(run["conclusion"] for run in runs) == ["failure", "failure", "success"]


def test_pull_requests(hub: Hub, github_repo: Repository) -> None:
    sha = _head(github_repo)
    github_repo.send("POST", "/git/refs", {"ref": "refs/heads/bump", "sha": sha})
    content = {"message": "m", "content": "eA==", "branch": "bump"}
    github_repo.send("PUT", "/contents/x.txt", content)
    number = github_repo.send("POST", "/pulls", {"title": "bump", "head": "bump", "base": "main"})["number"]
    view = hub.pull(number)
    assert view is not None
    assert (view.number, view.head_sha != sha, view.state) == (number, True, "open")
    first = hub.upsert_comment(number, Marker("pull", ID), "regressions")
    assert hub.upsert_comment(number, Marker("pull", ID), "none").id == first.id
    assert len(hub.comments(number)) == 1
    assert hub.pull(999) is None
    assert hub.issues() == []


def test_what_is_not_there_is_none(hub: Hub) -> None:
    assert hub.issue(4711) is None


def test_missing_repositories_name_the_permission(github_repo: Repository) -> None:
    gone = opened(github_repo._replace(name="admin/gone"))
    with pytest.raises(RefusedError, match="not found in admin/gone") as caught:
        gone.create_issue(BUG, "t", "b")
    assert "issues: " in caught.value.remedy


@pytest.mark.parametrize("name", ["torch", "a/b/c", "a/../b", "/a/b", "a b/c", "a/b?x=1"])
def test_odd_names_of_repositories_are_refused(github_repo: Repository, name: str) -> None:
    with pytest.raises(UserError, match="is not the name of a repository"):
        opened(github_repo._replace(name=name))


def test_the_budget_is_said(hub: Hub) -> None:
    hub.create_issue(BUG, "t", "b")
    assert hub.budget.requests > hub.budget.writes > 0
    assert f"{hub.budget.requests} requests ({hub.budget.writes} writes)" in hub.budget.text()
    assert "of 5000 left until" in hub.budget.text()
