"""`nightfuzz recheck`: what has become of bugs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from fuzz_core.campaign.recheck import Rechecked, RecheckOptions, RecheckReport, newest_targets
from fuzz_core.campaign.recheck import recheck as check_bugs
from fuzz_core.cli.errors import BUGS, INTERRUPTED
from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.session import session_of
from fuzz_core.cli.settings import Settings
from fuzz_core.triage.recheck import FLAKY, SHOWN, UNRUNNABLE
from nightfuzz.reports.contradiction import seen_again
from nightfuzz.reports.text import bounded

SHORT = 100


def recheck(settings: Settings, output: CommandOutput, bugs: list[int], runs: int | None) -> Report:
    """Run open and fixed bugs, or those named, on the target named or on the newest of each library.

    Exit code 1 where a fixed bug is back and the settings ask for that.
    """
    with session_of(settings, output) as session:
        targets = [session.target] if settings.target is not None else newest_targets(session.store, bugs)
        deadline = session.clock() + settings.time
        options = RecheckOptions(bugs, runs or settings.confirm_runs, settings.timeout, deadline)
        turns = (replace(session, target=target) for target in targets)
        reports = [check_bugs(turn, options) for turn in turns if not turn.stopped()]
        stopped = session.stopped()
    back = settings.fail_on_bugs and any(each.turn == "regression" for report in reports for each in report.checked)
    return Report(
        [
            {"target": each.target, "left": each.left, "checked": [_check_json(check) for check in each.checked]}
            for each in reports
        ],
        [part for report in reports for part in _text(report)],
        INTERRUPTED if stopped else BUGS if back else 0,
    )


def _check_json(each: Rechecked) -> dict[str, Any]:
    bug, check = each.bug, each.check
    was = {"bug": bug.id, "api": bug.api, "signature": bug.signature_text, "found_on": bug.target}
    did = {"check": check.status, "hits": check.hits, "runs": check.runs, "said": check.said}
    return {**was, **did, "outcome": check.outcome, "turn": each.turn, "status": each.status}


def _text(report: RecheckReport) -> list[str | TextTable]:
    """Return a line for each bug that is not as it was, and counts of all."""
    notable = [each for each in report.checked if each.turn or each.check.status != SHOWN]
    rows = [
        [each.bug.id, each.check.status, f"{each.check.hits}/{each.check.runs}", each.turn, each.bug.api, _what(each)]
        for each in sorted(notable, key=lambda each: each.bug.id)
    ]
    table = [TextTable(["bug", "check", "shown", "now", "api", "what happened"], rows)] if rows else []
    counts = Counter(each.check.status for each in report.checked)
    turns = Counter(each.turn for each in report.checked if each.turn)
    counted = ", ".join(f"{count} {name}" for name, count in [*sorted(counts.items()), *sorted(turns.items())])
    left = f"; {report.left} wait for the next recheck" if report.left else ""
    return [*table, f"{report.target}: {len(report.checked)} bugs checked: {counted or 'none'}{left}"]


def _what(each: Rechecked) -> str:
    check = each.check
    if check.status == UNRUNNABLE:
        return bounded(f"the call cannot be made: {check.said}", SHORT)
    shown = check.status in (SHOWN, FLAKY)
    return bounded(f"{'as before: ' * shown}{seen_again(each.bug, check.outcome, shown)}", SHORT)
