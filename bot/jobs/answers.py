"""Answers to what people asked for in comments: what the fuzz job since has found out stands in the state."""

from __future__ import annotations

from datetime import datetime

from fuzz_core.campaign.history import Came, came_with
from fuzz_core.store.checks import Probe
from fuzz_core.store.records import BugRow
from fuzz_core.store.store import Store
from nightfuzz.bot.commands.handling import answer
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.issues.filings import Filings, Request, settled
from nightfuzz.bot.jobs.wanting import numbered


def answered(hub: Hub, store: Store, filings: Filings, now: datetime) -> Filings:
    """Settles requests that the state has an answer to, and brings the answers in their issues up to date."""
    touched = set()
    for request in filings.waiting:
        bug = numbered(store, request.fingerprint)
        said = "this bug is not on record any more" if bug is None else _said(store, bug, request)
        if said:
            filings = settled(filings, request.key, said, now)
            touched.add(request.issue)
    for number in sorted(touched):
        answer(hub, filings, number)
    return filings


def _said(store: Store, bug: BugRow, request: Request) -> str:
    """The answer; empty where there is none yet."""
    if request.kind == "bisect":
        return bisected(came_with(store, bug.id))
    checks = [check for check in store.checks(bug.id) if datetime.fromisoformat(check.checked_at) > request.at]
    if request.kind == "retry" and checks:
        last = checks[-1]
        return f"{last.status} on {store.target(last.target).version}: {last.hits} of {last.runs} runs"
    if request.kind == "minimize":
        return "it is minimised: the script is the smallest that was found to show it" if bug.minimised else ""
    return ""


def bisected(came: Came) -> str:
    """Between which builds a bug came; empty before anything was tried."""
    if came.bad is None:
        return f"{came.tried} builds tried, none shows it" if came.tried else ""
    good = f"last good: {_on(came.good)}" if came.good else "no older build is without it"
    return f"first bad: {_on(came.bad)}; {good}; {came.tried} builds tried"


def _on(probe: Probe) -> str:
    return f"{probe.build} ({probe.hits} of {probe.runs} runs)"
