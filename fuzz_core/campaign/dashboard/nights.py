"""The nights of the dashboard: runs that follow each other, what they brought, and where their time went."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from fuzz_core.campaign.dashboard.bugs import engine_of
from fuzz_core.campaign.history import histories
from fuzz_core.store.records import RunRow
from fuzz_core.store.store import Store
from fuzz_core.triage.recheck import FIXED
from nightfuzz.reports.dashboard.model import SiteBug, SiteNight

# A run that begins so long after the last one belongs to another night.
PAUSE = timedelta(hours=6)


def nights(store: Store, bugs: Sequence[SiteBug]) -> list[SiteNight]:
    """Return the nights, the oldest first."""
    groups = grouped(store.runs())
    starts = [group[0].started for group in groups]
    new, back, fixed = (defaultdict[int, list[int]](list) for _ in range(3))
    for bug in sorted(bugs, key=lambda bug: bug.id):
        new[_night(starts, bug.found)].append(bug.id)
    public = {bug.id for bug in bugs}
    checked = {(check.bug, check.target): check.checked_at for check in store.checks()}
    for number, standing in histories(store).items():
        for event in standing.past if number in public else ():
            turned = fixed if event.kind == FIXED else back
            turned[_night(starts, checked.get((number, event.build), ""))].append(number)
    return [_night_of(group, new[place], back[place], fixed[place]) for place, group in enumerate(groups)]


def grouped(runs: Iterable[RunRow]) -> list[list[RunRow]]:
    """Return the runs by night, the oldest first."""
    found: list[list[RunRow]] = []
    end = datetime.min
    for run in sorted(runs, key=lambda run: (run.started, run.id)):
        began = datetime.fromisoformat(run.started).replace(tzinfo=None)
        if not found or began > end + PAUSE:
            found.append([])
        found[-1].append(run)
        end = max(end, began + timedelta(seconds=run.seconds)) if len(found[-1]) > 1 else began
        end = max(end, began + timedelta(seconds=run.seconds))
    return found


def _night(starts: Sequence[str], moment: str) -> int:
    """Return the place of the night that a moment belongs to; the first night for an earlier moment."""
    return max(bisect_right(starts, moment) - 1, 0)


def _night_of(runs: Sequence[RunRow], new: list[int], back: list[int], fixed: list[int]) -> SiteNight:
    working = sum(run.summary.get("working", 0.0) for run in runs)
    inside = sum(run.summary.get("inside", 0.0) for run in runs)
    known = [{"operators": 0, "classes": 0}, *(run.summary for run in runs if "growth" in run.summary)]
    return SiteNight(
        started=runs[0].started,
        finished=max((run.finished or "" for run in runs), default=""),
        targets=tuple(dict.fromkeys(run.target for run in runs)),
        runs=len(runs),
        unfinished=sum(run.status != "done" for run in runs),
        tests=sum(run.tests for run in runs),
        seconds=round(sum(run.seconds for run in runs), 1),
        inside=round(inside / working, 3) if working else 0.0,
        operators=max(_count(each.get("operators", 0)) for each in known),
        classes=max(_count(each.get("classes", 0)) for each in known),
        cells=sum(_count(run.summary.get("cells", 0)) for run in runs),
        new=tuple(new),
        back=tuple(back),
        fixed=tuple(fixed),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def time_spent(store: Store, runs: Sequence[RunRow]) -> dict[str, float]:
    """Return the seconds of work of these runs by what they were spent on, the largest first."""
    spent: dict[str, float] = defaultdict(float)
    for run in runs:
        _add(spent, run.summary, run.seconds, engine_of(run.options))
    if runs:
        first, last = runs[0].started[:10], max(run.finished or run.started for run in runs)[:10]
        targets = {run.target for run in runs}
        traced = (each for each in store.trace_counts() if first <= each.day <= last and each.target in targets)
        spent["tracing seeds"] = sum(each.seconds for each in traced)
    return {
        name: round(seconds, 1) for name, seconds in sorted(spent.items(), key=lambda each: -each[1]) if seconds > 0
    }


def _add(spent: dict[str, float], summary: Mapping[str, float], seconds: float, engine: str) -> None:
    spent["examining findings"] += summary.get("examining", 0.0)
    if engine != "freefuzz" or "working" not in summary:
        spent[f"engine {engine}"] += seconds
        return
    compiling, sweeping = summary.get("compiling", 0.0), summary.get("sweeping", 0.0)
    spent["sweep of boundary classes"] += sweeping
    spent["mutated calls"] += max(summary["working"] - sweeping - compiling, 0.0)
    spent["compilers of the library"] += compiling
    spent["start-up"] += summary.get("start_up", 0.0)
