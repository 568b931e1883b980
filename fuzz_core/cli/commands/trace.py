"""`nightfuzz trace`: collect seeds and trace the new and changed ones."""

from __future__ import annotations

from fuzz_core.campaign.carryover import Retraced, TraceReport
from fuzz_core.campaign.session import Session
from fuzz_core.cli.errors import INTERRUPTED
from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.session import session_of, trace_phase
from fuzz_core.cli.settings import Settings


def trace(settings: Settings, output: CommandOutput, since: str | None) -> Report:
    """Trace, and report the result."""
    with session_of(settings, output) as session:
        report = trace_phase(session, settings, since=since)
        return trace_report(session, report)._replace(code=INTERRUPTED if session.stopped() else 0)


def trace_report(session: Session, report: TraceReport) -> Report:
    """Return the report of a trace, with how much of the target's apis it covers."""
    coverage = session.store.coverage(session.target.key)
    listed, invocations = len(coverage), sum(row.invocations for row in coverage)
    valid = sum(1 for row in coverage if row.valid)
    status = ", ".join(f"{count} {name}" for name, count in sorted(report.status.items())) or "none"
    text = [
        f"seeds: {report.seeds} collected, {report.unchanged} unchanged, traced: {status}",
        *([] if report.space is None else [report.space.summary()]),
        *_retraced(report.retraced),
        f"recorded calls: {report.new} new; {report.valid} of {report.checked} are valid when they run again",
        f"value space: {invocations} recorded calls; {valid} of {listed} apis have a valid call",
        f"recording took {report.overhead:.0%} of the {report.seconds:.0f} s in which seeds ran",
    ]
    if report.searched:
        text.append(f"search for valid calls of {report.searched} apis without one: {report.found} found")
    if report.aside:
        text.append(f"{report.aside} seeds skipped: they name none of the selected apis")
    if report.left:
        text.append(f"{report.left} seeds wait for the next trace")
    if report.waiting:
        text.append(f"{report.waiting} recorded calls wait for a check by the next trace")
    if report.problems:
        text.append(f"not collected: {len(report.problems)}, first: {': '.join(report.problems[0])}")
    data = {
        **vars(report),
        "retraced": vars(report.retraced),
        "space": None if report.space is None else report.space._asdict(),
        "overhead": report.overhead,
        "apis_listed": listed,
        "apis_valid": valid,
        "invocations": invocations,
        "invocations_valid": sum(row.valid for row in coverage),
    }
    return Report(data, text)


def _retraced(retraced: Retraced) -> list[str]:
    """Format the rows that were taken over from an earlier build, and the differences.

    The list is empty if there was no such build.
    """
    if not retraced.since:
        return []
    changes = ", ".join(f"{count} {kind}" for kind, count in sorted(retraced.changes.items())) or "none"
    return [
        f"reused from {retraced.since}: {retraced.seeds} seeds with {retraced.invocations} recorded calls; "
        f"{retraced.dependants} unchanged seeds traced again for changed apis; "
        f"{retraced.retired} calls of removed apis dropped",
        f"{retraced.rechecked} reused calls run again: {retraced.lost} are no longer valid",
        f"apis that changed since: {changes}; `nightfuzz apis --changes` lists them",
    ]
