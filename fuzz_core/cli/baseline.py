"""`nightfuzz run --baseline`: after the run, both builds against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from fuzz_core.campaign.recheck import CLASSES, PRESENT, Classed, RecheckOptions, cross
from fuzz_core.campaign.session import Session
from fuzz_core.cli.boundary import BUGS
from fuzz_core.cli.comparing import changes_json, compare_phase, print_changes
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import table
from fuzz_core.store.records import TargetRecord

# Of the time for both, so much at most goes to bugs; the rest to ordinary test cases.
BUGS_SHARE = 0.35


def against_baseline(
    session: Session, settings: Settings, console: Console | None, baseline: TargetRecord, end: float
) -> tuple[int, dict[str, Any]]:
    """Bugs of either build on the other one, then test cases on both.

    Printed where there is a console. Returns the exit code, which is 1 where asked to fail on what is new, and all of
    it as JSON data.
    """
    middle = session.clock() + (end - session.clock()) * BUGS_SHARE
    found = cross(session, baseline, RecheckOptions((), settings.confirm_runs, settings.timeout, middle))
    told: dict[str, Any] = {"bugs": [{"bug": each.bug.id, "api": each.bug.api, "is": each.what} for each in found]}
    if console is not None:
        _print_classes(console, found, baseline.key)
    if session.stopped():
        return 0, told
    report = compare_phase(session, settings, baseline, end, most=settings.tests_count)
    builds = (session.target, baseline)
    if console is not None:
        print_changes(session.store, console, report.changes, False, builds, report)
    told |= changes_json(session.store, report.changes, builds, report)
    return BUGS if settings.fail_on_bugs and report.changes else 0, told


def _print_classes(console: Console, found: Sequence[Classed], baseline: str) -> None:
    """Bugs that only one of two builds has, and how many are of each class."""
    rows: list[list[object]] = [
        [each.bug.id, each.what, each.bug.api, each.bug.signature_text.partition(": ")[2]]
        for each in found
        if each.what != PRESENT
    ]
    if rows:
        table(console, ["bug", "is", "api", "what happens"], rows)
    counts = Counter(each.what for each in found)
    told = ", ".join(f"{counts[what]} {what}" for what in CLASSES if counts[what])
    console.print(f"bugs against {baseline}: {told or 'none to tell of'}", markup=False, soft_wrap=True)
