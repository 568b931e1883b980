"""Tells a pull request what a run brought: in one comment, updated in place, and in a check on its commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.marker import Marker, parsed
from nightfuzz.bot.github.views import Annotation, CommentView, PullView
from nightfuzz.bot.issues.wanted import digest
from nightfuzz.reports.annotations import check_annotations
from nightfuzz.reports.comment import Conclusion, FailOn, check, comment, conclusion, worth_telling
from nightfuzz.reports.results import Result

CHECK = "nightfuzz"


class Conversation(Protocol):
    """What it takes of `bot.github.hub.Hub`."""

    def login(self) -> str: ...
    def pull(self, number: int) -> PullView | None: ...
    def comments(self, number: int) -> list[CommentView]: ...
    def upsert_comment(self, number: int, marker: Marker, body: str) -> CommentView: ...
    def check_run(
        self,
        sha: str,
        name: str,
        conclusion: str,
        title: str,
        summary: str,
        annotations: Sequence[Annotation] = (),
    ) -> int: ...


class Links(NamedTuple):
    """blob: the address of the repository's files at the commit, for links to tests. report: of the whole report."""

    blob: str = ""
    report: str = ""


class Told(NamedTuple):
    """comment: what became of it, `outdated` where the pull request has moved on. problems: a line each."""

    comment: Literal["none", "written", "outdated", "closed"]
    conclusion: Conclusion
    problems: tuple[str, ...] = ()


def tell(
    hub: Conversation,
    number: int,
    result: Result,
    *,
    sha: str,
    fail_on: FailOn,
    checks: bool = True,
    links: Links = Links(),  # noqa: B008 - immutable
) -> Told:
    """Writes the comment where there is something to say, or an earlier one to correct; then the check.

    sha: the head that was run. A run that ends after the next push leaves the comment to that push's run. A check that
    GitHub refuses (it takes them from workflows and apps alone) is a problem that is told, no error.
    """
    view = hub.pull(number)
    if view is None or view.state != "open":
        became: Literal["none", "written", "outdated", "closed"] = "closed"
    elif view.head_sha != sha:
        became = "outdated"
    else:
        became = _commented(hub, number, result, links)
    return Told(became, conclusion(result, fail_on), _checked(hub, sha, result, fail_on, links) if checks else ())


def _commented(hub: Conversation, number: int, result: Result, links: Links) -> Literal["none", "written"]:
    """Each mode and library has a comment of its own, so that two workflows do not write over each other."""
    marker = Marker("pull", digest("pull", result.mode, result.target.library))
    if not worth_telling(result) and not _stands(hub, number, marker):
        return "none"
    # The marker takes its share of the length here; the hub puts it in itself.
    body = comment(result, marker.text, links.blob, links.report).removeprefix(f"{marker.text}\n")
    hub.upsert_comment(number, marker, body)
    return "written"


def _stands(hub: Conversation, number: int, marker: Marker) -> bool:
    return any(
        (found := parsed(each.body)) is not None and found[:2] == marker[:2]
        for each in hub.comments(number)
        if each.author == hub.login()
    )


def _checked(hub: Conversation, sha: str, result: Result, fail_on: FailOn, links: Links) -> tuple[str, ...]:
    told = check(result, fail_on, links.blob, links.report)
    name = f"{CHECK} {result.mode} ({result.target.library})"
    try:
        hub.check_run(sha, name, told.conclusion, told.title, told.summary, _notes(result))
    except RefusedError as error:
        return (f"no check: {error.problem}",)
    return ()


def _notes(result: Result) -> list[Annotation]:
    return [
        Annotation(
            str(each["path"]),
            int(each["start_line"]),
            str(each["message"]),
            str(each["title"]),
            str(each["annotation_level"]),
        )
        for each in check_annotations(result)
    ]
