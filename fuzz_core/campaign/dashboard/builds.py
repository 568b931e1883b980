"""The builds of the dashboard, with what each brought."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from fuzz_core.campaign.changes import changes_between
from fuzz_core.campaign.history import history
from fuzz_core.store.store import Store
from nightfuzz.reports.dashboard.model import SiteBug, SiteBuild
from nightfuzz.reports.text import bounded

# Newest builds of each library whose apis are compared with those of the build before; changes shown of each.
RECENT, SHOWN, LINE = 10, 300, 300


def build_pages(store: Store, bugs: Sequence[SiteBug]) -> list[SiteBuild]:
    """Return all builds, library by library, the oldest first."""
    new = defaultdict[str, list[int]](list)
    for bug in sorted(bugs, key=lambda bug: bug.id):
        new[bug.build].append(bug.id)
    public = {bug.id for bug in bugs}
    builds = history(store)
    left = Counter(build.row.library for build in builds)
    compared = store.compared()
    found: list[SiteBuild] = []
    before: dict[str, str] = {}
    standing: Counter[str] = Counter()
    for build in builds:
        row = build.row
        fixed, back = ([number for number in numbers if number in public] for numbers in (build.fixed, build.regressed))
        standing[row.library] += len(new[row.target]) - len(fixed) + len(back)
        since = before.get(row.library, "") if row.apis and left[row.library] <= RECENT else ""
        changes = changes_between(store, since, row.target).apis if since else ()
        found.append(
            SiteBuild(
                key=row.target,
                library=row.library,
                version=row.version,
                date=build.date,
                commit=build.commit,
                apis=row.apis,
                runs=row.runs,
                seconds=round(row.seconds, 1),
                tests=row.tests,
                findings=row.findings,
                new=new[row.target],
                fixed=fixed,
                back=back,
                open=standing[row.library],
                since=since,
                api_changes=Counter(change.kind for change in changes),
                changes=[_api_change(change) for change in changes if change.kind != "docstring"][:SHOWN],
                results=_results(store, row.target, compared),
            )
        )
        left[row.library] -= 1
        before |= {row.library: row.target} if row.apis else {}
    return found


def _api_change(change: object) -> dict[str, str]:
    return {name: bounded(value, LINE) for name, value in change._asdict().items()}  # type: ignore[attr-defined]


def _results(store: Store, target: str, compared: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the changes of results from the baselines that a build was compared with, worst first."""
    return [
        {"api": change.api, "kind": change.kind, "what": bounded(change.signature.partition(": ")[2], LINE)}
        for key, baseline in compared
        if key == target
        for change in store.changes(target, baseline)
    ][:SHOWN]
