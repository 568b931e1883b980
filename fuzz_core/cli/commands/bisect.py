"""`nightfuzz bisect`: with which build a bug came, or went."""

from __future__ import annotations

from fuzz_core.campaign.bisection import Bisection, BisectOptions, as_json
from fuzz_core.campaign.bisection import bisect as search
from fuzz_core.campaign.session import Session
from fuzz_core.cli.errors import stopping
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
    """Searches, and says what came of it."""
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
    with stopping() as stopped, open_state(settings) as store, output.watch() as watch:
        row = store.bug(bug)
        session = Session(store, store.target(row.target), settings.state, settings.workers, watch, stopped)
        found = search(session, row, options)
    return Report(as_json(found), [f"bug {row.id}: {row.kind} in {row.api}", *describe(found)])


def describe(found: Bisection) -> list[str]:
    """The answer in lines."""
    bad, good = ("last bad", "first fixed") if found.fixed else ("first bad", "last good")
    lines = [f"{bad}: {_build(found.bad)}"]
    side, beyond = "newer" if found.fixed else "older", ""
    if found.beyond:
        beyond = f": the {found.beyond} beyond it could not tell as far as they were tried"
    lines += [f"{good}: {_build(found.good)}" if found.good else f"no {side} build is without it{beyond}"]
    for probe in found.between:
        reason, _, _ = str(probe.info["reason"]).strip().partition("\n")
        lines.append(f"cannot tell: {probe.build}: {reason}")
    if found.between:
        what, count = "went" if found.fixed else "came", len(found.between)
        lines.append(f"so it {what} with one of {count + 1} builds: the {count} between them cannot tell")
    lines += [f"what changed: {found.compare}"] if found.compare else []
    lines.append(_surely(found))
    lines.append(f"{found.tried} of {found.builds} builds tried, {found.installs} environments made this time")
    return lines


def _build(probe: BugTrial) -> str:
    day, commit = probe.info["day"], probe.info["commit"]
    about = ", ".join(part for part in (day, f"commit {commit}" if commit else "") if part)
    return f"{probe.build}{f' ({about})' if about else ''}, shown in {probe.hits} of {probe.runs} runs"


def _surely(found: Bisection) -> str:
    rate = f"where the bug is, {found.hits} of {found.runs} runs show it"
    if found.good is None or found.sure is None:
        return rate
    silent = f"a build that has it is silent {found.good.runs} times with a probability of {1 - found.sure:.2%}"
    return f"{found.sure:.1%} sure: {rate}; {silent}"
