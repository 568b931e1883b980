"""`nightfuzz recheck`: what has become of bugs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from fuzz_core.campaign.recheck import Rechecked, RecheckOptions, RecheckReport, newest_targets, recheck
from fuzz_core.cli.boundary import BUGS, INTERRUPTED
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import table
from fuzz_core.cli.work import session_of
from fuzz_core.triage.recheck import SHOWN

SHORT = 100


def recheck_command(
    settings: Settings, console: Console, numbers: Sequence[int], runs: int | None, as_json: bool
) -> int:
    """Runs open and fixed bugs, or those named, on the target named or on the newest of each library.

    Exit code 1 where a fixed bug is back and the settings ask for that.
    """
    with session_of(settings, console, as_json) as session:
        targets = [session.target] if settings.target is not None else newest_targets(session.store, numbers)
        deadline = session.clock() + settings.time
        options = RecheckOptions(numbers, runs or settings.confirm_runs, settings.timeout, deadline)
        turns = (replace(session, target=target) for target in targets)
        reports = [recheck(turn, options) for turn in turns if not turn.stopped()]
        stopped = session.stopped()
    if as_json:
        console.print_json(json.dumps([_report_json(report) for report in reports]))
    else:
        for report in reports:
            _print(console, report)
    if stopped:
        return INTERRUPTED
    back = any(each.turn == "regression" for report in reports for each in report.checked)
    return BUGS if settings.fail_on_bugs and back else 0


def _report_json(report: RecheckReport) -> dict[str, Any]:
    return {"target": report.target, "left": report.left, "checked": [_check_json(each) for each in report.checked]}


def _check_json(each: Rechecked) -> dict[str, Any]:
    bug, check = each.bug, each.check
    was = {"bug": bug.id, "api": bug.api, "signature": bug.signature_text, "found_on": bug.target}
    did = {"check": check.status, "hits": check.hits, "runs": check.runs, "said": check.said}
    return {**was, **did, "outcome": check.outcome, "turn": each.turn, "status": each.status}


def _print(console: Console, report: RecheckReport) -> None:
    """What is as it was is only counted."""
    told = [each for each in report.checked if each.turn or each.check.status != SHOWN]
    rows: list[list[object]] = [
        [each.bug.id, each.check.status, f"{each.check.hits}/{each.check.runs}", each.turn, each.bug.api, _said(each)]
        for each in sorted(told, key=lambda each: each.bug.id)
    ]
    if rows:
        table(console, ["bug", "check", "shown", "now", "api", "what happened"], rows)
    counts = Counter(each.check.status for each in report.checked)
    turns = Counter(each.turn for each in report.checked if each.turn)
    told_counts = ", ".join(f"{count} {name}" for name, count in [*sorted(counts.items()), *sorted(turns.items())])
    left = f"; {report.left} wait for the next time" if report.left else ""
    console.print(
        f"{report.target}: {len(report.checked)} bugs checked: {told_counts or 'none'}{left}",
        markup=False,
        soft_wrap=True,
    )


def _said(each: Rechecked) -> str:
    check = each.check
    words = check.said.strip() or ("returns" if check.outcome.kind == "ok" else check.outcome.name)
    return (f"as before: {words}" if check.status == SHOWN else words)[:SHORT]
