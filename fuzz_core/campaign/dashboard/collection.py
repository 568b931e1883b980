"""Collection of the dashboard's data, from the public part of a state alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.campaign.coverage import coverage_by_api, total
from fuzz_core.campaign.dashboard.apis import api_pages, newest_builds
from fuzz_core.campaign.dashboard.bugs import BugPages, engine_of
from fuzz_core.campaign.dashboard.builds import build_pages
from fuzz_core.campaign.dashboard.nights import grouped, nights, time_spent
from fuzz_core.campaign.dashboard.trees import BugOrigin, tree_pictures
from fuzz_core.campaign.history import growth
from fuzz_core.campaign.partition import split
from fuzz_core.oracles.kinds import KINDS
from fuzz_core.store.records import RunRow
from fuzz_core.store.statefile import now, open_store
from fuzz_core.store.store import Store
from fuzz_core.triage.known import Registry
from nightfuzz.reports.case import meaning_of
from nightfuzz.reports.dashboard.model import (
    DashboardData,
    SiteApi,
    SiteApiDetail,
    SiteBug,
    SiteEngine,
    SiteJudgement,
    SiteYield,
)
from nightfuzz.reports.text import clean

FOUND = ("confirmed", "duplicate")


def public_site(state: Path, registry: Registry, clock: Callable[[], datetime] = now) -> DashboardData:
    """Return the dashboard's data of a state file, which stays as it is.

    The data comes from the state's public part (`campaign.partition.split`), so that no private row can reach a page.
    Pictures of derivation trees alone come from the whole state (`campaign.dashboard.trees`).

    Raises:
        UserError: a file that cannot be read.
    """
    with TemporaryDirectory(prefix="nightfuzz-dashboard-") as folder:
        public = Path(folder, "public.db")
        pending = split(state, public, Path(folder, "private.db"), clock).pending
        with open_store(public, clock=clock) as store:
            store.index_findings()
            site = _site(store, registry, pending, clock().isoformat(timespec="seconds"))
    origins = {bug.id: BugOrigin(bug.build, site.bug_details[bug.id].origin) for bug in site.bugs}
    with open_store(state, read_only=True, clock=clock) as whole:
        drawn = tree_pictures(whole, {bug: origin for bug, origin in origins.items() if origin.text})
    details = {bug: replace(detail, tree=drawn.get(bug, "")) for bug, detail in site.bug_details.items()}
    return replace(site, bug_details=details)


def _site(store: Store, registry: Registry, pending: int, made: str) -> DashboardData:
    pages = BugPages(store, registry)
    bugs, runs = pages.lines(), store.runs()
    library = {target.key: target.library for target in store.targets()}
    apis: list[SiteApi] = []
    details: dict[str, SiteApiDetail] = {}
    classes: dict[str, int] = {}
    cells: dict[str, dict[str, int]] = {}
    for target in newest_builds(store):
        own = [bug for bug in bugs if library[bug.build] == target.library]
        lines, more = api_pages(store, target, own, runs, classes)
        apis += lines
        details |= more
        if (swept := total(coverage_by_api(store, target.key))).cells:
            cells[target.library] = {**swept.results, "untried": swept.untried}
    last = grouped(runs)[-1] if runs else []
    modes = {mode for name in set(library.values()) for mode in dialect_of(name).ways}
    return DashboardData(
        made=made,
        version=version("nightfuzz"),
        builds=build_pages(store, bugs),
        nights=nights(store, bugs),
        bugs=bugs,
        apis=apis,
        engines=_engines(store, bugs, runs),
        yields=_yields(store, pages),
        judgements=[
            SiteJudgement(each.bug, each.verdict, clean(each.reason), each.judged_at)
            for each in store.judgements().values()
        ],
        pending=pending,
        time=time_spent(store, last),
        growth=growth(last),
        cells=cells,
        classes=list(classes),
        kinds={name: kind.rule.short for name, kind in KINDS.items()},
        modes={mode: meaning_of(mode) for mode in sorted(modes | {"cpu"})},
        bug_details=dict(pages.pages()),
        api_details=details,
    )


def _engines(store: Store, bugs: Sequence[SiteBug], runs: Sequence[RunRow]) -> list[SiteEngine]:
    names = {run.id: engine_of(run.options) for run in runs}
    found: Counter[str] = Counter()
    for count in store.finding_counts():
        found[names[count.run]] += count.findings
    return [
        SiteEngine(
            name=name,
            runs=len(own),
            seconds=round(sum(run.seconds for run in own), 1),
            tests=sum(run.tests for run in own),
            findings=found[name],
            bugs=sum(bug.engine == name for bug in bugs),
            clusters=len({bug.cluster for bug in bugs if bug.engine == name}),
        )
        for name in sorted(set(names.values()))
        if (own := [run for run in runs if names[run.id] == name])
    ]


def _yields(store: Store, pages: BugPages) -> list[SiteYield]:
    statuses = defaultdict[tuple[str, str], Counter[str]](Counter)
    for each in store.finding_counts():
        statuses["verdict", each.kind][each.status] += each.findings
    for rule in store.rule_counts():
        statuses["rule", rule.rule][rule.status] += rule.findings
    bugs: Counter[tuple[str, str]] = Counter()
    for bug in pages.bugs:
        bugs.update([("verdict", bug.row.kind), *(("rule", rule) for rule in set(bug.row.test.rules))])
    return [
        SiteYield(
            name=name,
            group=group,
            confirmed=sum(counts[status] for status in FOUND),
            flaky=counts["flaky"],
            rejected=counts["rejected"],
            bugs=bugs[group, name],
        )
        for (group, name), counts in sorted(statuses.items())
    ]
