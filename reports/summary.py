"""The summary of a job: all that a run has to tell, the worst first, within what GitHub shows of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nightfuzz.reports import telling
from nightfuzz.reports.comment import headline
from nightfuzz.reports.pages import page
from nightfuzz.reports.results import Result
from nightfuzz.reports.text import fitting, utf8

STEP = 1 << 20
# At most: entries with a script in each section, entries of one line, characters of a script.
FULL, LINES, SCRIPT = 50, 500, 4_000


def summary(result: Result, blob_url: str = "", notes: Sequence[str] = ()) -> str:
    """Markdown of at most 1 MiB; where not all fits, it says how much is left out.

    blob_url: the address of the repository's files at a commit, for links to tests. notes: further lines, such as what
    is left of a budget.
    """
    return fitting(lambda share: _page(result, share, blob_url, notes), STEP, utf8)


def _page(result: Result, share: float, blob_url: str, notes: Sequence[str]) -> str:
    brought = telling.brought(result)
    names: dict[str, Any] = {
        "headline": headline(result),
        "regressed": telling.causes(bug for bug in brought if bug.regression),
        "new": telling.causes(bug for bug in brought if not bug.regression),
        "known": sum(bug.status == "known" for bug in result.bugs),
        "fixed": sum(bug.status == "fixed" for bug in result.bugs),
        "whole": "`results.json`, an artifact of this run",
        "notes": notes,
    }
    return page("summary.md.j2", share, result, blob_url, FULL=FULL, LINES=LINES, SCRIPT=SCRIPT, **names)
