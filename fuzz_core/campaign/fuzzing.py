"""The time-boxed fuzz: leases out, findings in, each committed as it comes."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz_core.campaign.asked import matching
from fuzz_core.campaign.due import Due
from fuzz_core.campaign.figures import FuzzOptions, FuzzReport
from fuzz_core.campaign.foci import Foci
from fuzz_core.campaign.fuzzwork import FuzzWork
from fuzz_core.campaign.learning import Learning
from fuzz_core.campaign.patience import Patience
from fuzz_core.campaign.planning import make_plan
from fuzz_core.campaign.retracing import stirred
from fuzz_core.campaign.runs import Run
from fuzz_core.campaign.scheduling import Schedule, slice_for
from fuzz_core.campaign.session import Session
from fuzz_core.execution.pool import Limits, Pool
from fuzz_core.execution.scratch import scratch, sweep
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.errors import UserError
from fuzz_core.store.records import Body
from fuzz_core.triage.signature import signature
from fuzz_core.worker.plan import Plan

GROWTH_POINTS = 100
# A fuzz that could end early takes this share of its time all the same.
LEAST_SHARE = 0.4


def fuzz(session: Session, options: FuzzOptions) -> FuzzReport:
    """Fuzzes within the bounds and returns the figures; findings are pending in the store."""
    rows = chosen(session, options.patterns)
    report = FuzzReport()
    began = session.clock()
    sweep()
    with scratch() as folder:
        path = folder / "plan.jsonl"
        session.watch.phase("preparing")
        make_plan(session, path, rows, seed=options.seed, oracles=options.oracles, disabled=options.disabled)
        starting = session.clock()
        with Zygote(session.target.python, session.target.library, "fuzz", path, session.stopped) as zygote:
            _check_time_box(session.clock() - began, options)
            due = _due(session, options, session.clock() - starting, began)
            run = Run(session, options.seed, options.as_json())
            report.run = run.number
            _run(session, options, Plan(path), zygote, run, report, began, due)
    run.end(report)
    return report


def _check_time_box(start_up: float, options: FuzzOptions) -> None:
    if options.seconds is not None and options.seconds <= start_up:
        raise UserError(
            f"the time-box of {options.seconds:g} s is over before the first test: starting took {start_up:.1f} s",
            f"give it at least {start_up * 3:.0f} s",
        )


def _due(session: Session, options: FuzzOptions, start_up: float, began: float) -> Due | None:
    """What is pending from earlier runs is due already."""
    if options.seconds is None or options.examining is None:
        return None
    due = Due(start_up, options.runs, session.workers, began + options.seconds + options.examining)
    pending = session.store.pending_findings(session.target.key)
    due.add({signature(each.api, each.verdict, each.outcome).text: each.verdict.kind for each in pending}.values())
    return due


def chosen(session: Session, patterns: Sequence[str]) -> list[Body]:
    """Valid invocations, and the developers' error inputs as starting points, of the apis that match."""
    rows = [r for r in session.store.bodies(session.target.key) if r.valid or r.expected == "exception"]
    if not rows:
        raise UserError(
            f"nothing to fuzz: no valid invocation of {session.target.key} is on record", "run `nightfuzz trace` first"
        )
    if not patterns:
        return rows
    names = matching((row.api for row in rows), patterns, "traced api")
    return [row for row in rows if row.api in names]


def _run(
    session: Session,
    options: FuzzOptions,
    plan: Plan,
    zygote: Zygote,
    run: Run,
    report: FuzzReport,
    began: float,
    due: Due | None,
) -> None:
    counts = {api: plan.count(api) for api in plan.places}
    report.apis = len(counts)
    seconds = None if options.tests is not None else options.seconds
    part = None if seconds is None else slice_for(seconds, session.workers, len(counts))
    foci = Foci(options.disabled) if options.schedule == "bandit" else None
    first = stirred(session.store, session.target.key)
    schedule = Schedule(counts, options.seed, session.clock, part, options.tests, options.schedule, foci, first)
    learning = Learning(session, options.grow)
    # Without a time-box nothing may depend on how long tests took.
    patience = Patience(options.timeout) if seconds is not None else None
    work = FuzzWork(session, plan, schedule, learning, patience, report, due)
    pool = Pool(zygote, session.workers, Limits(timeout=options.timeout))
    session.watch.phase("fuzzing", seconds or options.tests or 0)
    started = session.clock()
    total = seconds or float(options.tests or 1)

    def over() -> bool:
        now = session.clock()
        spent = 0.0 if seconds is None else (now - began) / seconds
        return session.stopped() or spent >= 1.0 or (due is not None and spent >= LEAST_SHARE and due.fills(now))

    def tick() -> None:
        report.seconds = session.clock() - started
        report.deaths = pool.deaths
        learning.save()
        run.tell(report)
        done = report.seconds if seconds is not None else report.tests
        if done * GROWTH_POINTS >= total * len(report.growth):
            work.point()
        work.show(done)

    try:
        pool.run(work, over, tick)
    finally:
        learning.save(at_once=True)
    tick()
