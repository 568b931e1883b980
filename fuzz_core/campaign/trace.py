"""Seeds to invocations: list the apis, collect seeds, trace those no earlier build has, re-run what they brought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.carryover import TraceReport, recheck, take_over
from fuzz_core.campaign.inventory import Inventory, take_inventory
from fuzz_core.campaign.patterns import asked_apis
from fuzz_core.campaign.search import search
from fuzz_core.campaign.seed_order import by_promise, seeds_naming
from fuzz_core.campaign.session import GRACE_SECONDS, Session
from fuzz_core.campaign.spaces import SpaceFile, check_sample, take_space
from fuzz_core.collect.constraints import from_docstring, from_message
from fuzz_core.collect.sources import NAMES, Request, Seed, collect_own, collect_shipped, first_of_each
from fuzz_core.execution.zygote import Job, JobResult, Zygote, run_jobs
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.signatures import SEARCH
from fuzz_core.ir.wire import calls_in, decode
from fuzz_core.store.records import SeedRecord
from fuzz_core.store.similarity import refresh_similarity
from fuzz_core.store.spacefile import forget_foreign

# Share of the time for tracing; the remaining time is for running the traced calls again and for the search.
SEEDS_SHARE = 1 / 2
# Recorded calls are run again after so many seconds of seeds: an interrupted trace leaves few unchecked.
CHECK_SECONDS = 120.0


@dataclass
class TraceOptions:
    """Options of a trace."""

    sources: Sequence[str] = NAMES  # names of seed sources
    docs_dirs: Sequence[Path] = ()  # directories of the user
    tests_dirs: Sequence[Path] = ()
    models_dirs: Sequence[Path] = ()
    seconds: float = 60.0  # time limit of each seed
    # Clock time by which the trace ends. No seed runs in its last half, which is for running traced calls again
    # and for the search.
    deadline: float | None = None
    least: float = 0.0  # seconds that seeds and their calls have after collection, even beyond the deadline
    own: bool = False  # whether to leave out the seeds that come with the library
    # Patterns of apis. The user's own seeds run first. If there are patterns, only those seeds of the library run that
    # name one of these apis. All further seeds wait for a trace that asks for them.
    patterns: Sequence[str] = ()
    # Key of the target to take over from; None for the newest earlier one of the library, if there is one.
    since: str | None = None
    space: SpaceFile | None = None  # a space file to take over first


class SeedEnd(NamedTuple):
    """Message of a worker at the end of a seed.

    The message has the seed's parts, those that failed, and the calls without a record, by api.
    """

    parts: int = 0
    failed: int = 0
    reason: str = ""
    seconds: float = 0.0
    tracing_seconds: float = 0.0
    undescribed: tuple[tuple[str, str, int], ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()


def trace(session: Session, options: TraceOptions) -> TraceReport:
    """Bring the value spaces of the session's target up to date.

    Raises:
        UserError: no api of the target matches a pattern; raised before the first seed.
    """
    report = TraceReport()
    since = take_space(session, options.space, report) if options.space else ""
    deadline = options.deadline
    if options.space is not None and options.space.vouched and not (since or _own_folders(options)):
        _skip_tracing(session, options, report)
    else:
        deadline = _trace(session, options, report, since)
    check_sample(session, report, deadline)
    recheck(session, report, deadline)
    if SEARCH in options.sources and not options.own:
        search(session, options.patterns, deadline, report)
    finish_trace(session)
    return report


def _own_folders(options: TraceOptions) -> list[Path]:
    return [*options.docs_dirs, *options.tests_dirs, *options.models_dirs]


def _skip_tracing(session: Session, options: TraceOptions, report: TraceReport) -> None:
    """Take the word of a release for it that its file has every seed that comes with the build."""
    apis = session.store.apis(session.target.key)
    asked_apis(apis, options.patterns)
    report.apis = len(apis)
    report.seeds = report.unchanged = len(session.store.traced(session.target.key))


def _trace(session: Session, options: TraceOptions, report: TraceReport, since: str) -> float | None:
    """Collect seeds and trace those that are new.

    Args:
        since: the key of the build that a space file is of, if that is another build.

    Returns:
        The deadline, which the least time for tracing may have moved.
    """
    with tracer(session) as zygote:
        request = list_apis(session, zygote, options, report)
        session.watch.phase("collecting seeds")
        own = list(collect_own(request, options.sources))
        seeds = list(first_of_each((*own, *(() if options.own else collect_shipped(request, options.sources)))))
        new = take_over(session, seeds, options.since or since or None, report.retraced)
        asked = seeds_naming(new, request.apis, options.patterns) if options.patterns else new
        if options.deadline is not None:
            options = replace(options, deadline=max(options.deadline, session.clock() + options.least))
        report.seeds, report.unchanged, report.aside = len(seeds), len(seeds) - len(new), len(new) - len(asked)
        order = partial(by_promise, apis=request.apis, own={seed.digest for seed in own})
        _trace_in_portions(session, zygote, asked, order, options, report)
    return options.deadline


def seeds_end(session: Session, options: TraceOptions) -> float | None:
    """Return the clock time after which no seed begins: a share of the time that collecting has left."""
    now = session.clock()
    return None if options.deadline is None else now + (options.deadline - now) * SEEDS_SHARE


def _trace_in_portions(
    session: Session,
    zygote: Zygote,
    seeds: Sequence[Seed],
    order: Callable[..., list[Seed]],
    options: TraceOptions,
    report: TraceReport,
) -> None:
    """Trace seeds, and run again now and then what they brought.

    Args:
        order: `seed_order.by_promise` for these apis; it is used if the time may end before all seeds have run.
    """
    end, total = seeds_end(session, options), len(seeds)
    report.left = total
    while seeds and not session.is_over(end):
        if end is not None:
            seeds = order(seeds, called=session.store.called_apis(session.target.key))
        trace_seeds(session, zygote, seeds, options.seconds, report, end, total, session.clock() + CHECK_SECONDS)
        seeds = seeds[len(seeds) - report.left :]
        if seeds and not session.is_over(end):
            recheck(session, report, options.deadline)


def tracer(session: Session) -> Zygote:
    """Return a zygote of the session's target that traces seeds."""
    session.watch.phase("listing apis")
    return Zygote(session.target.python, session.target.library, "trace", None, session.stopped)


def finish_trace(session: Session) -> None:
    """Learn from all recorded invocations what holds between them, and forget builds that only a file is about."""
    forget_foreign(session.store)
    learn_refusals(session)
    session.watch.phase("comparing definitions")
    refresh_similarity(session.store, session.target.key)


def list_apis(session: Session, zygote: Zygote, options: TraceOptions, report: TraceReport) -> Request:
    """Record the target's apis, and return the request for the seed sources.

    Raises:
        UserError: a pattern of the options that no api matches.
    """
    found = take_inventory(session, zygote)
    session.store.save_apis(session.target.key, found.apis)
    report.apis = len(found.apis)
    asked_apis(found.apis, options.patterns)
    document(session, found)
    return _request(session, found, options, report)


def shipped_seeds(session: Session) -> set[str]:
    """Return the digests of the seeds that come with the target, whether they are traced or not."""
    with tracer(session) as zygote:
        found = take_inventory(session, zygote)
    session.watch.phase("collecting seeds")
    return {seed.digest for seed in collect_shipped(_request(session, found, TraceOptions(), TraceReport()))}


def _request(session: Session, found: Inventory, options: TraceOptions, report: TraceReport) -> Request:
    """Return the request for the seed sources."""
    return Request(
        library=session.target.library,
        apis=found.apis,
        packages={} if options.own else found.packages,
        docs_dirs=options.docs_dirs,
        tests_dirs=options.tests_dirs,
        models_dirs=options.models_dirs,
        database=[] if options.own else found.programs,
        problems=report.problems,
    )


def trace_seeds(
    session: Session,
    zygote: Zygote,
    seeds: Sequence[Seed],
    seconds: float,
    report: TraceReport,
    until: float | None,
    total: int = 0,
    pause: float | None = None,
) -> None:
    """Trace each seed for so many seconds at most.

    Args:
        until: clock time after which no seed starts, and shortly after which none runs: the next trace has those.
        total: how many seeds there are, of which these are the last, to show how far the trace is.
        pause: clock time after which no seed starts; the caller goes on with the others later.
    """
    if not seeds:
        return
    total = total or len(seeds)
    session.watch.phase("tracing seeds", total, session.left(until))
    report.left = len(seeds)
    jobs = (
        Job("seed", {"seed": {"kind": seed.kind, "code": seed.code, "path": seed.path}}, seconds, tag=seed)
        for seed in takewhile(lambda _: all(end is None or session.clock() <= end for end in (until, pause)), seeds)
    )
    for result in run_jobs(zygote, jobs, session.workers, stop=lambda: session.is_over(until, -GRACE_SECONDS)):
        _save(session, result, report)
        report.left -= 1
        failed = sum(report.status[status] for status in ("failed", "crashed", "timeout"))
        session.watch.advance(total - report.left, seed=result.job.tag.name, invocations=report.new, failed=failed)


def _save(session: Session, result: JobResult, report: TraceReport) -> None:
    """Put on record and into the report what a seed brought; garbage counts as described in `reason`."""
    seed: Seed = result.job.tag
    end = SeedEnd()
    with suppress(CodecError):
        end = decode(SeedEnd, result.messages[-1]) if result.complete else end
    calls, broken = calls_in(result.messages)
    brought = [(traced.call, "ok" if traced.ok else "exception") for traced in calls]
    parts = {traced.call: traced.part for traced in reversed(calls)}  # the first test that made the call
    status, kind, reason = _status(result, end)
    if unreadable := result.garbage + broken:
        reason += f" ({unreadable} unreadable lines)"
    head = (seed.digest, seed.source, seed.name, status, reason[:500])
    record = SeedRecord(*head, end.seconds, end.parts, end.failed, kind)
    undescribed = {(api, why): count for api, why, count in end.undescribed}
    dropped = {(api, "more than a seed may bring"): count for api, count in end.dropped}
    report.new += session.store.save_trace(session.target.key, record, brought, undescribed, dropped, parts)
    report.status[status] += 1
    report.seconds += end.seconds
    report.tracing_seconds += end.tracing_seconds


def _status(result: JobResult, end: SeedEnd) -> tuple[str, str, str]:
    """Return the seed's status, the kind of the outcome that ended it early, and the reason."""
    kind, name, said, *_ = result.outcome
    if kind == "timeout":
        return "timeout", kind, f"longer than {name}"
    if not result.complete:
        lines = said.strip().splitlines()
        return "crashed", kind, f"{kind} {name}: {lines[-1] if lines else ''}"
    if end.failed == 0:
        return "ok", "", ""
    return ("failed" if end.failed >= end.parts else "partly"), "", end.reason


def document(session: Session, found: Inventory) -> None:
    """Replace the constraints on record of the target by those of its inventory."""
    said = [constraint for api in found.apis for constraint in from_docstring(api)]
    session.store.save_constraints(session.target.key, [*found.declared, *said])


def learn_refusals(session: Session) -> None:
    """Add what the library's own exceptions about recorded invocations say of all calls."""
    store, target = session.store, session.target.key
    params = {api.name: api.params for api in store.apis(target)}
    refusals = store.refusals(target)
    found = [c for api, message in refusals for c in from_message(api, params.get(api, ()), message)]
    store.save_constraints(target, [*store.constraints(target), *found])
