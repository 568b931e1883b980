"""The commands that do something."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console

from fuzz_core.campaign.carryover import Retraced, TraceReport
from fuzz_core.campaign.cases import keep_environment
from fuzz_core.campaign.examination import TriageReport
from fuzz_core.campaign.planning import parse_shard, portion, seeds_on_record
from fuzz_core.campaign.session import Session
from fuzz_core.cli.baseline import against_baseline
from fuzz_core.cli.boundary import BUGS, INTERRUPTED
from fuzz_core.cli.config import Settings
from fuzz_core.cli.sides import beside, compare_beside, compare_command
from fuzz_core.cli.targets import target_of
from fuzz_core.cli.timebox import Worked, fuzz_and_triage
from fuzz_core.cli.work import TRACE_SHARE, check, session_of, trace_phase
from nightfuzz.reports.markdown import write_report

COMPARE_SHARE = 0.6
# Of a run's time-box, where libraries are named whose models are compared.
SIDES_SHARE = 0.2


def trace_command(settings: Settings, console: Console, since: str | None, as_json: bool) -> int:
    """Traces, and prints what came of it."""
    with session_of(settings, console, as_json) as session:
        report = trace_phase(session, settings, since=since)
        stopped = session.stopped()
        covered = _covered(session)
    if as_json:
        console.print_json(json.dumps({**_plain(report), "overhead": report.overhead, **covered}))
    else:
        _print_trace(console, report, covered)
    return INTERRUPTED if stopped else 0


def _plain(report: TraceReport | TriageReport | Retraced) -> dict[str, Any]:
    """A report as JSON data (before Python 3.12, `asdict` counts the entries of a Counter instead of copying it)."""
    return {name: _plain_value(value) for name, value in vars(report).items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Retraced):
        return _plain(value)
    return dict(value) if isinstance(value, Counter) else value


def _covered(session: Session) -> dict[str, int]:
    coverage = session.store.coverage(session.target.key)
    return {
        "apis_listed": len(coverage),
        "apis_valid": sum(1 for row in coverage if row.valid),
        "invocations": sum(row.invocations for row in coverage),
        "invocations_valid": sum(row.valid for row in coverage),
    }


def _print_trace(console: Console, report: TraceReport, covered: dict[str, int]) -> None:
    status = ", ".join(f"{count} {name}" for name, count in sorted(report.status.items())) or "none"
    lines = [
        f"seeds: {report.seeds} collected, {report.unchanged} unchanged, traced: {status}",
        f"invocations: {report.new} new; {report.valid} of {report.checked} re-run unmutated are valid",
        f"value space: {covered['invocations']} invocations of {covered['apis_valid']} apis with a valid one "
        f"({covered['apis_listed']} listed)",
        f"recording took {report.overhead:.0%} of {report.seconds:.0f} s of seeds",
    ]
    lines[1:1] = _retraced_lines(report.retraced)
    if report.aside:
        lines.append(f"{report.aside} seeds are left aside: they name none of the apis asked for")
    if report.left:
        lines.append(f"{report.left} seeds wait for the next trace")
    if report.waiting:
        lines.append(f"{report.waiting} invocations wait to be re-run by the next trace")
    if report.problems:
        lines.append(f"{len(report.problems)} pieces could not be collected, first: {': '.join(report.problems[0])}")
    console.print("\n".join(lines), markup=False, soft_wrap=True)


def _retraced_lines(retraced: Retraced) -> list[str]:
    """What was taken over from an earlier build and what is not the same there; nothing where there was none."""
    if not retraced.since:
        return []
    changes = ", ".join(f"{count} {kind}" for kind, count in sorted(retraced.changes.items())) or "none"
    return [
        f"carried over from {retraced.since}: {retraced.seeds} seeds with {retraced.invocations} invocations; "
        f"{retraced.dependants} dependants traced anew, {retraced.retired} invocations retired",
        f"of those, {retraced.rechecked} run again: {retraced.lost} no longer valid",
        f"apis that changed since: {changes}; `nightfuzz apis --changes` lists them",
    ]


def fuzz_command(settings: Settings, console: Console, as_json: bool) -> int:
    """Fuzzes and examines within the time-box."""
    if settings.engine == "gandalf":
        return compare_command(settings, console, as_json)
    with session_of(settings, console, as_json) as session:
        end = None if settings.tests_count is not None else session.clock() + settings.time
        code, told = _work(session, settings, None if as_json else console, end)
    if as_json:
        console.print_json(json.dumps(told))
    return code


def run_command(settings: Settings, console: Console, as_json: bool) -> int:
    """Traces what is new, fuzzes and examines, and compares with a baseline where one is named, in the time-box."""
    began = time.monotonic()
    shown = None if as_json else console
    with session_of(settings, console, as_json) as session:
        end = began + settings.time
        known = seeds_on_record(session.store, session.target.library) if settings.changed else None
        others = beside(session, settings) if settings.libraries else {}
        report = trace_phase(session, settings, deadline=began + settings.time * TRACE_SHARE, own=settings.changed)
        if shown is not None:
            _print_trace(shown, report, _covered(session))
        check(session.stopped)
        narrowed = _narrowed(session, settings, known)
        if narrowed is None:
            return _nothing(shown)
        models, settings = _models_share(session, settings), narrowed
        baseline = None
        if settings.baseline is not None:
            baseline = target_of(session.store, settings.model_copy(update={"target": settings.baseline}))
        share = COMPARE_SHARE if baseline is not None else SIDES_SHARE if others else 0.0
        code, told = _work(session, settings, shown, end - (end - session.clock()) * share, models)
        told |= {"seeds": report.seeds - report.unchanged, "apis": settings.api}
        if baseline is not None and not session.stopped():
            worse, told["baseline"] = against_baseline(session, settings, shown, baseline, end)
            code = INTERRUPTED if session.stopped() else worse or code
        elif others and not session.stopped() and settings.tests_count is None:
            new, told["libraries"] = compare_beside(others, settings, end, shown)
            code = INTERRUPTED if session.stopped() else BUGS if new and settings.fail_on_bugs else code
    if as_json:
        console.print_json(json.dumps(told))
    return code


def _narrowed(session: Session, settings: Settings, known: set[str] | None) -> Settings | None:
    """The settings with the apis that the run is about; None where no seed is new or changed."""
    if known is None and settings.shard is None:
        return settings
    shard = None if settings.shard is None else parse_shard(settings.shard)
    apis = portion(session, settings.api, shard, known)
    return settings.model_copy(update={"api": apis}) if apis else None


def _models_share(session: Session, settings: Settings) -> float:
    """The share of model programs, which call apis of all kinds: a run about some apis alone has none."""
    if settings.engine == "moco" or settings.tests_count is not None or not settings.models_share:
        return 0.0
    if settings.api or settings.changed:
        session.watch.note("no model programs are grown: the run is about some apis alone")
        return 0.0
    return settings.models_share


def _nothing(console: Console | None) -> int:
    if console is None:
        print("{}")
    else:
        console.print("no seed is new or changed: nothing to fuzz", markup=False)
    return 0


def _work(
    session: Session, settings: Settings, console: Console | None, end: float | None, share: float = 0.0
) -> tuple[int, dict[str, Any]]:
    """Fuzzes and examines; printed where there is a console. Returns the exit code, and all of it as JSON data."""
    worked = fuzz_and_triage(session, settings, end, share)
    triaged = worked.triaged
    if triaged.bugs and not session.stopped():
        # Where the bugs were seen, the machine that reports them may be another.
        keep_environment(session.store, session.target)
    path = write_report(session.state_dir / "report.md", session.store, session.target)
    if console is not None:
        _print_end(console, worked, path)
    told = {"fuzz": worked.fuzzed.summary(), "triage": _plain(triaged), "report": str(path)}
    if worked.grown is not None or worked.left_out:
        told["models"] = {"left_out": worked.left_out} if worked.grown is None else worked.grown.summary()
    if session.stopped():
        return INTERRUPTED, told
    return BUGS if settings.fail_on_bugs and triaged.bugs else 0, told


def _print_end(console: Console, worked: Worked, path: Path) -> None:
    fuzzed, triaged, grown = worked.fuzzed, worked.triaged, worked.grown
    settled = ", ".join(f"{count} {name}" for name, count in sorted(triaged.settled.items())) or "none"
    reports = [fuzzed] if grown is None else [fuzzed, grown]
    seen, kept = sum(each.findings for each in reports), sum(each.kept for each in reports)
    lines = [
        fuzzed.told,
        *([] if grown is None else [f"model programs: {grown.told}"]),
        f"findings: {seen} seen, {kept} kept; examined: {settled}; {triaged.left} wait",
        f"new bugs: {len(triaged.bugs)}; `nightfuzz bugs` lists them all; report: {path}",
    ]
    console.print("\n".join(lines), markup=False, soft_wrap=True)
