"""Texts for a pull request: one comment, written anew with each run, and a check with its conclusion."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

from fuzz_core.ir.errors import UserError
from nightfuzz.reports import wording
from nightfuzz.reports.markdown import address, counted, listed, page
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.text import bounded, fitting

FailOn = Literal["never", "regression", "new", "any"]
Conclusion = Literal["success", "failure", "neutral"]
FAIL_ON = get_args(FailOn)
OUTPUT = 65_535
TITLE = 120
NEW, CHANGED, BETTER = "new bug", "changed call", "fixed bug"
# Limits of each section: open entries, entries with a script, entries of one line, and characters of a script.
TOP, FULL, LINES, SCRIPT = 5, 10, 50, 2_500


class CheckOutput(NamedTuple):
    """A check run's output: title and summary (Markdown) within GitHub's limits."""

    title: str
    summary: str
    conclusion: Conclusion


def worth_telling(result: RunResult) -> bool:
    """Return whether a pull request gets a comment: an entry differs, is new, is removed, is fixed or is back."""
    return any(_counts(result).values())


def comment(result: RunResult, marker: str, blob_url: str = "", report_url: str = "") -> str:
    """Return the body of the comment, at most 65,536 characters; `marker` is its first line.

    A run without entries gives a comment that says so, because it may replace an earlier comment.

    Args:
        result: the run.
        marker: the comment's first line.
        blob_url: the address of the repository's files at a commit (`https://github.com/o/r/blob/SHA`), for links to
            tests.
        report_url: the address of the full report.
    """
    return fitting(lambda share: _page(result, share, marker, blob_url, report_url))


def check(result: RunResult, fail_on: FailOn, blob_url: str = "", report_url: str = "") -> CheckOutput:
    """Return the output of a check run.

    Raises:
        UserError: a `fail_on` that there is not.
    """
    found = conclusion(result, fail_on)
    body = fitting(lambda share: _page(result, share, "", blob_url, report_url), OUTPUT)
    return CheckOutput(bounded(headline(result), TITLE), body, found)


def conclusion(result: RunResult, fail_on: FailOn) -> Conclusion:
    """Return the conclusion of a check.

    Neutral: the run has entries but no failure, or too few results.

    A run with a missing shard or a failed command fails for each value of `fail_on`, because its results are
    incomplete. A pull request that changes no seed succeeds.

    Raises:
        UserError: `fail_on` is unknown.
    """
    if fail_on not in FAIL_ON:
        raise UserError(f"{fail_on!r} is not a value of fail-on", f"write one of: {', '.join(FAIL_ON)}")
    reasons = {
        "regression": result.regressions > 0 or any(one.kind == "removed" for one in result.dropped),
        "new": bool(wording.new_and_back(result)),
        "any": bool(wording.opened(result) or wording.changes(result, "changed") or result.dropped or result.private),
    }
    names = list(reasons)
    reached = names[: names.index(fail_on) + 1] if fail_on in reasons else []
    if result.incomplete or any(reasons[name] for name in reached):
        return "failure"
    complete = result.is_untouched or (result.figures.tests > 0 and not result.stopped)
    worse = any(number for noun, number in _counts(result).items() if noun != BETTER)
    return "success" if complete and not worse else "neutral"


def headline(result: RunResult) -> str:
    """Return the result of a run in a few words."""
    causes = {
        NEW: len(wording.causes(bug for bug in wording.new_and_back(result) if not bug.regression)),
        CHANGED: len(wording.alike(wording.changes(result, "changed"))),
    }
    told = [
        counted(number, noun) + (f" ({counted(causes[noun], 'cause')})" if causes.get(noun, number) < number else "")
        for noun, number in _counts(result).items()
        if number
    ]
    said = listed(told) or _nothing(result)[0]
    return f"incomplete run, {said}" if result.incomplete else said


def _counts(result: RunResult) -> dict[str, int]:
    return {
        "regression": result.regressions,
        NEW: sum(not bug.regression for bug in wording.new_and_back(result)),
        "removed api": sum(one.kind == "removed" for one in result.dropped),
        CHANGED: len(wording.changes(result, "changed")),
        "deprecated api": sum(one.kind != "removed" for one in result.dropped),
        BETTER: len(wording.changes(result, "fixed")) + result.fixed,
    }


def _nothing(result: RunResult) -> tuple[str, str]:
    """Return the headline and the sentence of a run without entries."""
    if result.is_untouched:
        return "no seed is changed", "The pull request changes no seed that calls an api to fuzz, so no test was run."
    if result.stopped or result.incomplete or not result.figures.tests:
        whys = {"The run was cancelled early": result.stopped, "Some results are missing": result.incomplete}
        why = next((words for words, holds in whys.items() if holds), "No test was run")
        return "too few results", f"{why}, so the comparison is incomplete."
    if result.baseline is None:
        return "no new bug", "No new bug was found, and no fixed bug is back."
    return "no change", "Each call that was run has the same result on both builds."


def _page(result: RunResult, share: float, marker: str, blob_url: str, report_url: str) -> str:
    names: dict[str, Any] = {
        "marker": marker,
        "headline": headline(result),
        "nothing": "" if worth_telling(result) else _nothing(result)[1],
        "new": wording.causes(wording.new_and_back(result)),
        "report_url": address(report_url),
        "whole": f"[the report]({address(report_url)})" if report_url else "the run's artifact",
    }
    return page("comment.md.j2", share, result, blob_url, TOP=TOP, FULL=FULL, LINES=LINES, SCRIPT=SCRIPT, **names)
