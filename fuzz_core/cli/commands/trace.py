"""`nightfuzz trace`: collect seeds and trace the new and changed ones."""

from __future__ import annotations

from fuzz_core.campaign.carryover import Retraced, TraceReport
from fuzz_core.campaign.session import Session
from fuzz_core.cli.errors import INTERRUPTED
from fuzz_core.cli.output import CommandOutput, Report
from fuzz_core.cli.session import session_of, trace_phase
from fuzz_core.cli.settings import Settings


def trace(settings: Settings, output: CommandOutput, since: str | None) -> Report:
    """Traces, and reports what came of it."""
    with session_of(settings, output) as session:
        report = trace_phase(session, settings, since=since)
        return trace_report(session, report)._replace(code=INTERRUPTED if session.stopped() else 0)


def trace_report(session: Session, report: TraceReport) -> Report:
    """The report of a trace, with how much of the target's apis it covers."""
    coverage = session.store.coverage(session.target.key)
    listed, invocations = len(coverage), sum(row.invocations for row in coverage)
    valid = sum(1 for row in coverage if row.valid)
    status = ", ".join(f"{count} {name}" for name, count in sorted(report.status.items())) or "none"
    text = [
        f"seeds: {report.seeds} collected, {report.unchanged} unchanged, traced: {status}",
        *([] if report.space is None else [report.space.summary()]),
        *_retraced(report.retraced),
        f"invocations: {report.new} new; {report.valid} of {report.checked} re-run unmutated are valid",
        f"value space: {invocations} invocations of {valid} apis with a valid one ({listed} listed)",
        f"recording took {report.overhead:.0%} of {report.seconds:.0f} s of seeds",
    ]
    if report.aside:
        text.append(f"{report.aside} seeds are left aside: they name none of the apis asked for")
    if report.left:
        text.append(f"{report.left} seeds wait for the next trace")
    if report.waiting:
        text.append(f"{report.waiting} invocations wait to be re-run by the next trace")
    if report.problems:
        text.append(f"{len(report.problems)} pieces could not be collected, first: {': '.join(report.problems[0])}")
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
    """Format the rows that were taken over from an earlier build and the differences; an empty list if there was no
    such build.
    """
    if not retraced.since:
        return []
    changes = ", ".join(f"{count} {kind}" for kind, count in sorted(retraced.changes.items())) or "none"
    return [
        f"carried over from {retraced.since}: {retraced.seeds} seeds with {retraced.invocations} invocations; "
        f"{retraced.dependants} dependants traced anew, {retraced.retired} invocations retired",
        f"of those, {retraced.rechecked} run again: {retraced.lost} no longer valid",
        f"apis that changed since: {changes}; `nightfuzz apis --changes` lists them",
    ]
