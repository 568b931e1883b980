"""`nightfuzz bisect`: with which build a bug came, or went."""

from __future__ import annotations

import json
from dataclasses import replace

from rich.console import Console

from fuzz_core.campaign.bisection import Bisection, BisectOptions, as_json, bisect
from fuzz_core.campaign.session import Session
from fuzz_core.cli.boundary import stopping
from fuzz_core.cli.config import Settings
from fuzz_core.cli.display import printable, watch
from fuzz_core.cli.state import state_file
from fuzz_core.store.checks import Probe
from fuzz_core.store.opening import open_store
from fuzz_core.targets.resolve import Access


def bisect_command(settings: Settings, console: Console, number: int, options: BisectOptions, json_wanted: bool) -> int:
    """Searches, and says what came of it."""
    options = replace(
        options,
        index=settings.index,
        flavour=settings.flavour,
        access=Access(settings.allow_cached, int(settings.wheel_cache * 1e9)),
        timeout=settings.timeout,
    )
    shown = Console(stderr=True) if json_wanted else console
    with stopping() as stopped, open_store(state_file(settings)) as store, watch(shown) as display:
        bug = store.bug(number)
        target = store.target(bug.target)
        session = Session(store, target, settings.state, settings.workers, display, stopped)
        found = bisect(session, bug, options)
    if json_wanted:
        console.print_json(json.dumps(as_json(found)))
    else:
        title = f"bug {bug.id}: {bug.kind} in {bug.api}"
        console.print(printable("\n".join([title, *told(found)])), markup=False, highlight=False, soft_wrap=True)
    return 0


def told(found: Bisection) -> list[str]:
    """The answer in lines."""
    bad, good = ("last bad", "first fixed") if found.fixed else ("first bad", "last good")
    lines = [f"{bad}: {_build(found.bad)}"]
    lines += [f"{good}: {_build(found.good)}" if found.good else _no_good(found)]
    lines += [f"cannot tell: {probe.build}: {_reason(probe)}" for probe in found.between]
    if found.between:
        what, count = "went" if found.fixed else "came", len(found.between)
        lines.append(f"so it {what} with one of {count + 1} builds: the {count} between them cannot tell")
    lines += [f"what changed: {found.compare}"] if found.compare else []
    lines.append(_surely(found))
    lines.append(f"{found.tried} of {found.builds} builds tried, {found.installs} environments made this time")
    return lines


def _build(probe: Probe) -> str:
    day, commit = probe.info["day"], probe.info["commit"]
    about = ", ".join(part for part in (day, f"commit {commit}" if commit else "") if part)
    return f"{probe.build}{f' ({about})' if about else ''}, shown in {probe.hits} of {probe.runs} runs"


def _no_good(found: Bisection) -> str:
    side = "newer" if found.fixed else "older"
    if found.beyond:
        return f"no {side} build is without it: the {found.beyond} beyond it could not tell as far as they were tried"
    return f"no {side} build is without it"


def _reason(probe: Probe) -> str:
    return str(probe.info["reason"]).strip().partition("\n")[0]


def _surely(found: Bisection) -> str:
    rate = f"where the bug is, {found.hits} of {found.runs} runs show it"
    if found.good is None or found.sure is None:
        return rate
    silent = f"a build that has it is silent {found.good.runs} times with a probability of {1 - found.sure:.2%}"
    return f"{found.sure:.1%} sure: {rate}; {silent}"
