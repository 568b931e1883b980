"""`nightfuzz run`: target, tracing, fuzzing, triage and comparison in one time-box."""

from __future__ import annotations

import math
import time
from collections import Counter
from typing import Any

from fuzz_core.campaign.carryover import check_calls
from fuzz_core.campaign.changed_seeds import ChangedSeeds, trace_changed
from fuzz_core.campaign.plans import apis_to_fuzz, parse_shard
from fuzz_core.campaign.recheck import CLASSES, PRESENT, RecheckOptions, cross
from fuzz_core.campaign.session import Session
from fuzz_core.cli.commands import trace
from fuzz_core.cli.commands.changes import changes_report, compare_builds
from fuzz_core.cli.commands.fuzz import fuzz_libraries, fuzz_target, require_tests
from fuzz_core.cli.errors import BUGS, INTERRUPTED
from fuzz_core.cli.output import CommandOutput, Report, TextTable
from fuzz_core.cli.session import (
    TRACE_SHARE,
    check_stop,
    compared_sessions,
    open_sessions,
    targets_of,
    trace_options,
    trace_phase,
)
from fuzz_core.cli.settings import Settings, duration
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import TargetRecord
from nightfuzz.reports.contradiction import contradiction

# The least sensible time is named in such steps.
STEP_SECONDS = 30
# Share of a run's time-box that tracing and checking get at least, however long the target took to start.
LEAST_TRACE_SHARE = 0.2
# Shares of a run's time-box: for the comparison with a baseline, and for models of other libraries if some are named.
BASELINE_SHARE, LIBRARIES_SHARE = 0.6, 0.2
# Bugs get at most this share of the time for both builds. Ordinary test cases get the remaining time.
BUGS_SHARE = 0.35


def run(settings: Settings, output: CommandOutput) -> Report:
    """Trace new seeds, fuzz and examine, and compare with a baseline or with libraries if some are named.

    Raises:
        UserError: there were apis to fuzz and no test ran.
    """
    began = time.monotonic()
    if settings.paper:
        raise UserError(
            "the setting `paper` does not apply to `nightfuzz run`",
            "leave out the setting, or run `nightfuzz fuzz --paper`",
        )
    if settings.changed and not (settings.tests or settings.docs or settings.models):
        raise UserError(
            "--changed needs a directory of your own tests, docs or models, and none is named",
            "add --tests DIR, --docs DIR or --models DIR",
        )
    specs = [settings.target, *([] if settings.baseline is None else [settings.baseline])]
    with open_sessions(settings, output, lambda store: targets_of(store, settings, *specs), timed=True) as [
        session,
        *older,
    ]:
        end = began + settings.time
        others = compared_sessions(session, settings) if settings.libraries else {}
        baseline = older[0].target if older else None
        traced = trace_changes(session, settings, began, output)
        check_stop(session)
        if traced.unfuzzed:
            return Report(traced_data(traced), [traced.unfuzzed])
        share = models_share(session, settings)
        shard = None if settings.shard is None else parse_shard(settings.shard)
        if settings.changed or shard is not None:
            apis = apis_to_fuzz(session, traced.apis or settings.api, shard)
            if not apis:
                return Report(
                    traced_data(traced), [f"shard {settings.shard} has no api: the other shards have all apis"]
                )
            settings = settings.model_copy(update={"api": apis})
        compared = BASELINE_SHARE if baseline is not None else LIBRARIES_SHARE if others else 0.0
        fuzzed = fuzz_target(session, settings, end - (end - session.clock()) * compared, share)
        data = {**traced_data(traced), **fuzzed.data, "apis": settings.api}
        output.show(*fuzzed.text)
        if session.stopped():
            return Report(data, code=fuzzed.code)
        if baseline is not None:
            more, name = compare_baseline(session, settings, output, baseline, end), "baseline"
        elif others and settings.tests_count is None:
            more, name = fuzz_libraries(others, settings, end), "libraries"
        else:
            require_tests(session, settings, data)
            return Report(data, code=fuzzed.code)
        require_tests(session, settings, {**data, name: more.data})
        code = INTERRUPTED if session.stopped() else more.code or fuzzed.code
        return Report({**data, name: more.data}, more.text, code)


def trace_changes(session: Session, settings: Settings, began: float, output: CommandOutput) -> ChangedSeeds:
    """Trace what is new, or the user's changed seeds where the settings ask for these alone, and print the figures."""
    deadline = began + settings.time * TRACE_SHARE
    if settings.changed:
        options = trace_options(session, settings, deadline=deadline)
        traced = trace_changed(session, options, began + settings.time, settings.base)
    else:
        report = trace_phase(session, settings, deadline=deadline, least=settings.time * LEAST_TRACE_SHARE)
        traced = ChangedSeeds(report, report.seeds - report.unchanged)
    output.show(*trace.trace_report(session, traced.report).text)
    output.show(*(f"{each.file}: not traced completely: {each.reason}" for each in traced.untraced))
    if traced.report.waiting and not session.stopped() and not _has_valid_call(session):
        # On a slow machine the part of the time-box for tracing is over before the library is imported again.
        check_calls(session, began + settings.time)
    if traced.report.waiting and not session.stopped() and not _has_valid_call(session):
        least = math.ceil((session.clock() - began) / TRACE_SHARE / STEP_SECONDS) * STEP_SECONDS
        raise UserError(
            f"the time-box of {duration(settings.time)} was over before a recorded call of {session.target.key} was"
            " checked",
            f"give --time {least}s or more",
        )
    return traced


def _has_valid_call(session: Session) -> bool:
    return any(row.valid for row in session.store.bodies(session.target.key))


def traced_data(traced: ChangedSeeds) -> dict[str, Any]:
    """Return the figures of tracing as JSON data."""
    untraced = [each._asdict() for each in traced.untraced]
    space = traced.report.space
    return {
        "seeds": traced.seeds,
        "apis": list(traced.apis),
        "untraced": untraced,
        "unfuzzed": traced.unfuzzed,
        "space": None if space is None else space._asdict(),
    }


def models_share(session: Session, settings: Settings) -> float:
    """Return the share of model programs, which call apis of all kinds: a run about some apis alone has none."""
    if settings.engine == "moco" or settings.tests_count is not None or not settings.models_share:
        return 0.0
    if settings.api or settings.changed:
        session.watch.note("no model programs are grown, because `api` or `changed` limits this run to some apis")
        return 0.0
    return settings.models_share


def compare_baseline(
    session: Session, settings: Settings, output: CommandOutput, baseline: TargetRecord, end: float
) -> Report:
    """Run bugs of either build on the second one, then test cases on both.

    The exit code is 1 where the settings ask to fail on what is new.
    """
    middle = session.clock() + (end - session.clock()) * BUGS_SHARE
    found = cross(session, baseline, RecheckOptions((), settings.confirm_runs, settings.timeout, middle))
    data = {"bugs": [{"bug": each.bug.id, "api": each.bug.api, "is": each.what} for each in found]}
    rows = [[each.bug.id, each.what, each.bug.api, contradiction(each.bug)] for each in found if each.what != PRESENT]
    counts = Counter(each.what for each in found)
    classes = ", ".join(f"{counts[what]} {what}" for what in CLASSES if counts[what])
    if rows:
        output.show(TextTable(["bug", "is", "api", "what happens"], rows))
    output.show(f"bugs compared with {baseline.key}: {classes or 'none'}")
    if session.stopped():
        return Report(data)
    compared = compare_builds(session, settings, baseline, end)
    report = changes_report(session.store, compared.changes, (session.target, baseline), compared)
    code = BUGS if settings.fail_on_bugs and compared.changes else 0
    return report._replace(data={**data, **report.data}, code=code)
