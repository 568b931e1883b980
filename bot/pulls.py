"""The result of a run in a pull request: one comment, updated in place, and a check on its commit."""

from __future__ import annotations

from typing import Literal, NamedTuple

from nightfuzz.bot.github.errors import RefusedError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.marker import marker_of
from nightfuzz.reports.annotations import check_annotations
from nightfuzz.reports.comment import FailOn, check, comment, worth_telling
from nightfuzz.reports.results import RunResult

CHECK = "nightfuzz"


class PullLinks(NamedTuple):
    """Addresses that a comment links to.

    Attributes:
        blob: the address of the repository's files at the commit, for links to tests.
        report: of the whole report.
    """

    blob: str = ""
    report: str = ""


class PullUpdate(NamedTuple):
    """The work of a report job on a pull request.

    Attributes:
        comment: `outdated` if the pull request has a newer commit.
        problems: a line each.
    """

    comment: Literal["none", "written", "outdated", "closed"]
    problems: tuple[str, ...] = ()


def update_pull(hub: Hub, number: int, result: RunResult, *, sha: str, fail_on: FailOn, links: PullLinks) -> PullUpdate:
    """Write the comment if there is an entry, or an earlier comment to correct; then the check.

    Args:
        sha: the head that was run. A run that ends after the next push leaves the comment to that push's run. A check
            that GitHub refuses (it takes them from workflows and apps alone) is a problem, no error.
    """
    update = PullUpdate(_write_comment(hub, number, result, sha, links))
    made = check(result, fail_on, links.blob, links.report)
    name = f"{CHECK} {result.mode} ({result.target.library})"
    try:
        hub.check_run(sha, name, made.conclusion, made.title, made.summary, check_annotations(result))
    except RefusedError as error:
        return update._replace(problems=(f"no check: {error.problem}",))
    return update


def _write_comment(
    hub: Hub, number: int, result: RunResult, sha: str, links: PullLinks
) -> Literal["none", "written", "outdated", "closed"]:
    """Write the comment of this mode and library, so that two workflows do not write over each other."""
    view = hub.pull(number)
    if view is None or view.state != "open":
        return "closed"
    if view.head_sha != sha:
        return "outdated"
    marker = marker_of("pull", result.mode, result.target.library)
    ours = (each.body for each in hub.comments(number) if hub.wrote(each))
    if not worth_telling(result) and not any(map(marker.marks, ours)):
        return "none"
    # The marker takes its share of the length here; the hub puts it in itself.
    body = comment(result, marker.text, links.blob, links.report).removeprefix(f"{marker.text}\n")
    hub.upsert_comment(number, marker, body)
    return "written"
