"""The summary of a run, the worst first: of a job in GitHub, and as the report file of a run on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fuzz_core.ir.files import write_whole
from fuzz_core.modelgen.gandalf.picture import svg
from fuzz_core.modelgen.gandalf.scripts import SAID
from nightfuzz.reports import wording
from nightfuzz.reports.comment import headline
from nightfuzz.reports.markdown import page
from nightfuzz.reports.picture import NAME, curve_mermaid, curve_sentence, has_curve, picture
from nightfuzz.reports.results import BugEntry, RunResult
from nightfuzz.reports.text import fitting, utf8

STEP = 1 << 20
# At most: entries with a script in each section, entries of one line, characters of a script.
FULL, LINES, SCRIPT = 50, 500, 4_000
HERE = (
    "All bugs with their numbers, private bugs included: nightfuzz bugs. One bug: nightfuzz show N",
    "Known bugs: nightfuzz known list. Fixed bugs: nightfuzz history",
)


def summary(result: RunResult, blob_url: str = "", notes: Sequence[str] = ()) -> str:
    """Return Markdown of at most 1 MiB; a cut text says how much is left out.

    Args:
        result: the run.
        blob_url: the address of the repository's files at a commit, for links to tests.
        notes: further lines, such as the remaining budget.
    """
    return _summary(result, blob_url, notes, mode=result.mode, whole="`results.json`, an artifact of this run")


def write_report(path: Path, result: RunResult, notes: Sequence[str] = ()) -> Path:
    """Write the summary of a run on this machine, with pictures of the run and of models beside it; return its path.

    Args:
        notes: further lines, which go before those about commands.
    """
    night = picture(result)
    if night:
        write_whole(path.with_name(NAME), night)
    pictures = {bug.number: name for bug in wording.opened(result) if (name := _drawn(path, bug))}
    text = _summary(result, "", (*notes, *HERE), pictures, NAME if night else "", mode="", whole="`nightfuzz bugs`")
    write_whole(path, text)
    return path


def _summary(
    result: RunResult,
    blob_url: str,
    notes: Sequence[str],
    pictures: Mapping[int, str] | None = None,
    night: str = "",
    **names: str,
) -> str:
    brought = wording.new_and_back(result)
    given: dict[str, Any] = {
        "headline": headline(result),
        "regressed": wording.causes(bug for bug in brought if bug.regression),
        "new": wording.causes(bug for bug in brought if not bug.regression),
        "known": sum(bug.status == "known" for bug in result.bugs),
        "fixed": sum(bug.status == "fixed" for bug in result.bugs),
        "notes": (*result.remarks, *notes),
        "pictures": pictures or {},
        "night": night,
        "curve": (curve_sentence(result), curve_mermaid(result)) if has_curve(result) else None,
        **{"FULL": FULL, "LINES": LINES, "SCRIPT": SCRIPT},
        **names,
    }
    return fitting(lambda share: page("summary.md.j2", share, result, blob_url, **given), STEP, utf8)


def _drawn(report: Path, bug: BugEntry) -> str:
    """Draw a model that libraries disagree about, beside the report.

    Returns:
        The picture's name or an empty text.
    """
    picture = svg(bug.script) if any(said in bug.script for said in SAID) else None
    if picture is None:
        return ""
    name = f"graphs/bug-{bug.number}.svg"
    place = report.parent / name
    place.parent.mkdir(exist_ok=True)
    write_whole(place, picture)
    return name
