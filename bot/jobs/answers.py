"""Answers to what people asked for in comments: what the fuzz job since has found out stands in the state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from packaging.version import InvalidVersion, Version

from bot.commands.handling import answer
from bot.github.hub import Hub
from bot.issues.filings import Filings, Request, settled
from bot.jobs.wanting import numbered
from fuzz_core.store.probes import Probe
from fuzz_core.store.records import BugRow
from fuzz_core.store.store import Store

BAD, GOOD = "bad", "good"


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
        return bisected(store.probes(bug.id))
    checks = [check for check in store.checks(bug.id) if datetime.fromisoformat(check.checked_at) > request.at]
    if request.kind == "retry" and checks:
        last = checks[-1]
        return f"{last.status} on {store.target(last.target).version}: {last.hits} of {last.runs} runs"
    if request.kind == "minimize":
        return "it is minimised already" if bug.minimised else ""
    return ""


def bisected(probes: Mapping[str, Probe]) -> str:
    """Between which builds a bug came; empty before anything was tried."""
    tried = sorted(probes.values(), key=lambda probe: _order(probe.build))
    bad = next((probe for probe in tried if probe.status == BAD), None)
    if bad is None:
        return f"{len(tried)} builds tried, none shows it" if tried else ""
    good = _last_good(tried, bad)
    older = f"last good: {good.build} ({good.hits} of {good.runs} runs)" if good else "no older build is without it"
    return f"first bad: {bad.build} ({bad.hits} of {bad.runs} runs); {older}; {len(tried)} builds tried"


def _last_good(tried: Sequence[Probe], bad: Probe) -> Probe | None:
    return next((probe for probe in reversed(tried[: tried.index(bad)]) if probe.status == GOOD), None)


def _order(build: str) -> tuple[Version, str]:
    try:
        return Version(Version(build.rpartition("==")[2]).public), build
    except InvalidVersion:
        return Version("0.dev0"), build
