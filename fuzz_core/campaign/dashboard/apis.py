"""The apis of the dashboard: those of each library's newest build, with their coverage, value space and bugs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.coverage import SweepCoverage, coverage_by_api
from fuzz_core.campaign.dashboard.bugs import call_script
from fuzz_core.campaign.history import ordered
from fuzz_core.ir.catalogue import Api
from fuzz_core.ir.codec import decode_invocation
from fuzz_core.store.cells import CELL_RESULTS, UNREACHABLE
from fuzz_core.store.records import Coverage, RunRow, TargetRecord
from fuzz_core.store.store import Store
from nightfuzz.reports.dashboard.model import SiteApi, SiteApiDetail, SiteBug
from nightfuzz.reports.text import bounded, clean

TESTED, WAITS = "tested", "not fuzzed yet"
# Examples of recorded calls, and lines of the value space, of each api.
CALLS, SPACE, LINE = 2, 40, 300


def newest_builds(store: Store) -> list[TargetRecord]:
    """Return the newest build with apis of each library, by the name of the library."""
    targets = store.targets()
    listed = {row.target for row in store.builds() if row.apis}
    libraries = sorted({target.library for target in targets})
    builds = ([each for each in ordered(targets, name) if each.key in listed] for name in libraries)
    return [found[-1] for found in builds if found]


def api_pages(
    store: Store, target: TargetRecord, bugs: Iterable[SiteBug], runs: Iterable[RunRow], classes: dict[str, int]
) -> tuple[list[SiteApi], dict[str, SiteApiDetail]]:
    """Return the lines and the pages of a build's apis.

    Args:
        bugs: of all builds of its library.
        classes: the place of each boundary class; further classes are added.
    """
    costs: dict[str, float] = {}
    for run in runs:
        found = run.summary.get("costs")
        costs |= found if run.target == target.key and isinstance(found, Mapping) else {}
    numbers = defaultdict[str, list[int]](list)
    for bug in bugs:
        numbers[bug.api].append(bug.id)
    reached = defaultdict[str, list[str]](list)
    for row in store.operators(target.key):
        reached[row.api].append(row.name if row.dtype == "-" else f"{row.name} ({row.dtype})")
    outcomes = defaultdict[str, dict[str, int]](dict)
    for count in store.class_counts(target.key):
        outcomes[count.api][count.kind or "exception"] = count.classes
    coverage = store.coverage(target.key)
    sweeps = {each.api: each for each in coverage_by_api(store, target.key)}
    lines = [
        _line(target, row, costs, numbers[row.api], reached[row.api], outcomes[row.api], sweeps.get(row.api))
        for row in coverage
    ]
    return lines, _details(store, target, coverage, reached, outcomes, classes)


def _line(
    target: TargetRecord,
    row: Coverage,
    costs: Mapping[str, float],
    bugs: Sequence[int],
    operators: Sequence[str],
    outcomes: Mapping[str, int],
    sweep: SweepCoverage | None,
) -> SiteApi:
    sweep = sweep or SweepCoverage()
    reasons = row.undescribed or row.dropped
    why = max(reasons, key=lambda name: reasons[name], default="") if row.gap else ""
    return SiteApi(
        name=row.api,
        library=target.library,
        kind=row.kind,
        state=TESTED if row.api in costs else row.gap or WAITS,
        why="" if row.api in costs else clean(bounded(why, LINE)),
        invocations=row.invocations,
        valid=row.valid,
        seeds=row.seeds,
        classes=sum(outcomes.values()),
        operators=len(operators),
        cost=costs.get(row.api, 0.0),
        cells=sweep.cells,
        tried=sweep.tried,
        unreachable=sweep.results[UNREACHABLE],
        bugs=tuple(bugs),
    )


def _details(
    store: Store,
    target: TargetRecord,
    coverage: Sequence[Coverage],
    reached: Mapping[str, Sequence[str]],
    outcomes: Mapping[str, Mapping[str, int]],
    classes: dict[str, int],
) -> dict[str, SiteApiDetail]:
    listed = {api.name: api for api in store.apis(target.key)}
    space, constraints, calls = (defaultdict[str, list[Sequence[object]]](list) for _ in range(3))
    for count in store.space_counts(target.key):
        if len(space[count.api]) < SPACE:
            space[count.api].append((count.argument, bounded(count.type, LINE), count.amount))
    for each in store.constraints(target.key):
        constraints[each.api].append((each.argument, each.kind, bounded(each.text, LINE), each.source))
    cells = _cells(store, target.key, classes)
    dialect = dialect_of(target.library)
    for _, name, body in store.samples(target.key, [row.api for row in coverage], "", CALLS):
        if script := call_script(decode_invocation(json.loads(body)), dialect):
            calls[name].append(script)
    return {
        row.api: SiteApiDetail(
            definition=bounded(listed.get(row.api, Api(row.api, "")).definition, LINE * 2),
            aliases=listed[row.api].aliases if row.api in listed else (),
            undescribed={bounded(name, LINE): count for name, count in row.undescribed.items()},
            dropped={bounded(name, LINE): count for name, count in row.dropped.items()},
            outcomes=outcomes[row.api],
            space=space[row.api],
            constraints=constraints[row.api],  # type: ignore[arg-type]
            operators=reached[row.api],
            calls=calls[row.api],  # type: ignore[arg-type]
            cells=cells[row.api],
        )
        for row in coverage
    }


def _cells(store: Store, target: str, classes: dict[str, int]) -> Mapping[str, list[Sequence[object]]]:
    """Return the cells of each api, those of one argument with the same result and reason together."""
    groups = defaultdict[tuple[str, str, str, str], list[int]](list)
    for row in store.cells(target):
        groups[row.api, row.argument, row.result, row.reason].append(classes.setdefault(row.name, len(classes)))
    found = defaultdict[str, list[Sequence[object]]](list)
    rows = sorted(groups.items(), key=lambda each: (each[0][1], CELL_RESULTS.index(each[0][2])))
    for (api, argument, result, reason), places in rows:
        found[api].append((argument, result, clean(bounded(reason, LINE)), places))
    return found
