"""`nightfuzz changes`: what a build does otherwise than its baseline; and the comparison of two builds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from fuzz_core.campaign.changes import changes_between
from fuzz_core.campaign.comparison import CompareOptions, CompareReport, by_cause, compare, worst_first
from fuzz_core.campaign.history import flavours_differ
from fuzz_core.campaign.session import Session
from fuzz_core.cli.output import CommandOutput, Report, TextTable, shorten
from fuzz_core.cli.settings import Settings
from fuzz_core.cli.state import read_state
from fuzz_core.ir.codec import encode_test
from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import Change
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.store import Store

SHOWN_APIS = 6


def changes(settings: Settings, output: CommandOutput) -> Report:
    """List the changes of the latest comparison on record, or of the latest one of the named target."""
    with read_state(settings) as store:
        pairs = [pair for pair in store.compared() if settings.target in (None, pair[0])]
        pairs = [pair for pair in pairs if settings.baseline in (None, pair[1])]
        if not pairs:
            asked = " with ".join(each for each in (settings.target, settings.baseline) if each)
            problem = f"{settings.state} has no comparison" + (f" of {asked}" if asked else "")
            raise UserError(problem, "make one: `nightfuzz run --target NEW --baseline OLD`")
        target, baseline = pairs[-1]
        found = store.changes(target, baseline)
        return changes_report(store, found, (store.target(target), store.target(baseline)))


def compare_builds(
    session: Session,
    settings: Settings,
    baseline: TargetRecord,
    end: float,
    traced: TargetRecord | None = None,
    calls: Collection[int] | None = None,
) -> CompareReport:
    """Run test cases on both builds until the clock says `end`.

    Args:
        traced: the build whose calls they are mutants of
        calls: the only ones, by number.
    """
    options = CompareOptions(
        deadline=end,
        runs=settings.confirm_runs,
        timeout=settings.timeout,
        seed=settings.seed or 0,
        disabled=settings.disable,
        patterns=settings.api,
        calls=calls,
        most=settings.tests_count,
        first=sorted(changes_between(session.store, baseline.key, session.target.key).changed_apis),
    )
    return compare(session, baseline, traced or session.target, options)


def changes_report(
    store: Store,
    found: Sequence[Change],
    builds: tuple[TargetRecord, TargetRecord],
    report: CompareReport | None = None,
) -> Report:
    """Return a table with a line for each cause, worst first; as JSON, every change in full.

    Args:
        report: figures of a comparison that was just made.
    """
    new, old = (build.key for build in builds)
    every = worst_first(found)
    causes = list(by_cause(every).values())
    table = TextTable(["kind", "api", "what differs", "called by"], [_line(store, cause) for cause in causes])
    text: list[str | TextTable] = [
        *([table] if causes else []),
        f"changes from {old} to {new}: {len(found)}, causes: {len(causes)}",
    ]
    unlike = flavours_differ(*builds)
    text += [f"note: {unlike}"] if unlike else []
    data: dict[str, Any] = {"target": new, "baseline": old, "notes": [unlike] if unlike else []}
    if report is not None:
        data |= {"tests": report.tests, "apis": report.apis, "dropped": dict(report.dropped)}
        left = ", ".join(f"{count} {why}" for why, count in sorted(report.dropped.items())) or "none"
        text.append(
            f"{report.tests:,} test cases of {report.apis} apis ran on both builds; harmless differences: {left}"
        )
    data["changes"] = [
        {**each._asdict(), "test": encode_test(each.test), "seeds": store.seeds_of(each.test.origin)} for each in every
    ]
    return Report(data, text)


def difference(change: Change) -> str:
    """Return the results of a call on both builds, in words."""
    text = change.signature.partition(": ")[2].partition("baseline: ")[2]
    if change.before.kind == change.after.kind == "ok":
        text += f": {change.before.text[:80]} before, now {change.after.text[:80]}"
    return text


def _line(store: Store, cause: Sequence[Change]) -> list[object]:
    first = cause[0]
    apis = dict.fromkeys(change.api for change in cause)
    seeds = dict.fromkeys(name for change in cause for name in store.seeds_of(change.test.origin))
    return [first.kind, shorten(list(apis), SHOWN_APIS), difference(first), shorten(list(seeds))]
