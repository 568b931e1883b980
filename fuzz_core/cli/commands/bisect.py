"""`nightfuzz bisect`: with which build a bug came, or went."""

from __future__ import annotations

from fuzz_core.campaign.bisection import Bisection, BisectOptions, as_json
from fuzz_core.campaign.bisection import bisect as search
from fuzz_core.campaign.session import Session
from fuzz_core.cli.errors import stop_requests
from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.session import access_of
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import open_state
from fuzz_core.store.checks import BugTrial


def bisect(
    settings: Settings,
    output: CommandOutput,
    bug: int,
    good: str | None,
    bad: str | None,
    first_fixed: bool,
    runs: int | None,
    keep: int,
) -> Report:
    """Search, and report the result."""
    options = BisectOptions(
        good=good,
        bad=bad,
        fixed=first_fixed,
        runs=runs,
        keep=keep,
        index=settings.index,
        flavour=settings.flavour,
        access=access_of(settings),
        timeout=settings.timeout,
    )
    with stop_requests() as stopped, open_state(settings) as store, output.watch() as watch:
        row = store.bug(bug)
        session = Session(store, store.target(row.target), settings.state, settings.workers, watch, stopped)
        found = search(session, row, options)
    return Report(as_json(found), [f"bug {row.id}: {row.kind} in {row.api}", *describe(found)])


def describe(found: Bisection) -> list[str]:
    """Return the answer in lines."""
    bad, good = ("last bad", "first fixed") if found.fixed else ("first bad", "last good")
    lines = [f"{bad}: {_build(found.bad)}"]
    side, beyond = "newer" if found.fixed else "older", ""
    if found.beyond:
        beyond = f": of the {found.beyond} {side} builds, all that were tried gave no answer"
    lines += [f"{good}: {_build(found.good)}" if found.good else f"no {side} build without the bug was found{beyond}"]
    for probe in found.between:
        reason, _, _ = str(probe.info["reason"]).strip().partition("\n")
        lines.append(f"no answer from {probe.build}: {reason}")
    if found.between:
        what, count = "went" if found.fixed else "came", len(found.between)
        lines.append(f"the bug {what} with one of {count + 1} builds: the {count} between them gave no answer")
    lines += [f"what changed: {found.compare}"] if found.compare else []
    lines.append(_surely(found))
    lines.append(f"{found.tried} of {found.builds} builds tried, {found.installs} of them installed now")
    return lines


def _build(probe: BugTrial) -> str:
    day, commit = probe.info["day"], probe.info["commit"]
    about = ", ".join(part for part in (day, f"commit {commit}" if commit else "") if part)
    return f"{probe.build}{f' ({about})' if about else ''}, shown in {probe.hits} of {probe.runs} runs"


def _surely(found: Bisection) -> str:
    rate = f"{found.hits} of {found.runs} runs show the bug on a build that has it"
    if found.good is None or found.sure is None:
        return rate
    silent = f"such a build shows no bug in {found.good.runs} runs with a probability of {1 - found.sure:.2%}"
    return f"{found.sure:.1%} sure: {rate}; {silent}"
