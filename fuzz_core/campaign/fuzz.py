"""The time-boxed fuzz: leases out, findings in, each committed as it comes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fuzz_core.campaign.carryover import changed_apis, deadly_calls
from fuzz_core.campaign.examination import ExaminationQueue
from fuzz_core.campaign.finding_groups import HANG_RESERVE
from fuzz_core.campaign.listener import Feedback, FuzzListener, FuzzReport
from fuzz_core.campaign.plans import chosen, make_plan
from fuzz_core.campaign.scheduler import ExaminationBacklog, Scheduler, Timeouts, slice_for
from fuzz_core.campaign.session import Run, Session
from fuzz_core.campaign.sweep import SweepSchedule
from fuzz_core.execution.pool import Limits, Pool
from fuzz_core.execution.scratch import scratch, sweep
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.errors import UserError
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.triage.signature import signature
from fuzz_core.worker.plan import Plan

GROWTH_POINTS = 100
# The part of a run that the sweep takes at most; the next run goes on with it.
SWEEP_SHARE = 0.5
# A fuzz that could end early takes this share of its time all the same.
LEAST_SHARE = 0.4
# The least sensible time-box in times of the start: tracing and examining have shares of it as well.
LEAST_BOX = 8


@dataclass
class FuzzOptions:
    """Options of a fuzz of single calls."""

    seconds: float | None = 60.0  # seconds of the run; None: no limit
    tests: int | None = None  # tests of the run; with `tests` alone the run does not depend on the clock
    patterns: Sequence[str] = ()
    seed: int = 0
    disabled: Sequence[str] = ()  # kinds of mutators that are not used
    oracles: Sequence[str] = tuple(ORACLES)
    timeout: float = 3.0
    schedule: str = "bandit"  # name of a ranking
    grow: bool = True  # whether test cases with new behaviour are mutated further
    # Seconds after `seconds` that are kept for examining findings. The fuzz ends early if they are too few.
    examining: float | None = None
    few: bool = True  # see `worker.plan.Header`
    devices: bool = False  # see `worker.plan.Header`
    sweep: bool = False  # whether the run begins with the sweep of boundary classes
    search: bool = True  # whether apis are fuzzed whose calls a search has found

    def as_json(self) -> dict[str, Any]:
        """Return the options as the run's record keeps them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}


def fuzz(session: Session, options: FuzzOptions, queue: ExaminationQueue | None = None) -> FuzzReport:
    """Fuzz within the bounds and return the figures; findings are pending in the store.

    Args:
        queue: examines findings beside the fuzz, in the places of some of its workers.
    """
    rows = chosen(session, options.patterns, options.search)
    report = FuzzReport()
    began = session.clock()
    sweep()
    with scratch() as folder:
        path = folder / "plan.jsonl"
        session.watch.phase("preparing")
        make_plan(
            session,
            path,
            rows,
            seed=options.seed,
            oracles=options.oracles,
            disabled=options.disabled,
            few=options.few,
            devices=options.devices,
        )
        starting = session.clock()
        with Zygote(session.target.python, session.target.library, "fuzz", path, session.stopped) as zygote:
            report.start_up = start_up = session.clock() - began
            if options.seconds is not None and options.seconds <= start_up:
                raise too_short(f"the {options.seconds:.0f} s for fuzzing were over before the first test", start_up)
            backlog = None if queue is not None else _backlog(session, options, session.clock() - starting, began)
            run = Run(session, options.seed, options.as_json())
            report.run = run.number
            _run(session, options, Plan(path), zygote, run, report, began, backlog, queue)
    run.end(report)
    return report


def too_short(problem: str, start_up: float) -> UserError:
    """Return the error for a time-box without a test, with the least sensible time.

    Args:
        start_up: seconds before a first test.
    """
    least = math.ceil(start_up * LEAST_BOX / 10) * 10
    return UserError(f"{problem}: starting the library took {start_up:.1f} s", f"give --time {max(least, 10)}s or more")


def _backlog(session: Session, options: FuzzOptions, start_up: float, began: float) -> ExaminationBacklog | None:
    """Return the backlog, in which pending findings of earlier runs count."""
    if options.seconds is None or options.examining is None:
        return None
    end = began + options.seconds + options.examining
    backlog = ExaminationBacklog(start_up, session.workers, end, HANG_RESERVE * (end - began))
    pending = session.store.pending_findings(session.target.key)
    backlog.add({signature(each.api, each.verdict, each.outcome).text: each.verdict.kind for each in pending}.values())
    return backlog


def _run(
    session: Session,
    options: FuzzOptions,
    plan: Plan,
    zygote: Zygote,
    run: Run,
    report: FuzzReport,
    began: float,
    backlog: ExaminationBacklog | None,
    queue: ExaminationQueue | None,
) -> None:
    counts = {api: plan.count(api) for api in plan.places}
    report.apis = len(counts)
    seconds = None if options.tests is not None else options.seconds
    part = None if seconds is None else slice_for(seconds, session.workers, len(counts))
    store, key = session.store, session.target.key
    first = changed_apis(store, key)
    scheduler = Scheduler(
        counts,
        options.seed,
        session.clock,
        part,
        options.tests,
        options.schedule,
        first=first,
        # A run without a time-box is repeatable: no decision depends on the duration of tests.
        timeouts=Timeouts(options.timeout) if seconds is not None else None,
        spent={each.api: (each.tests, each.seconds) for each in store.efforts(key)},
    )
    feedback = Feedback(session, options.grow)
    listener = FuzzListener(session, plan, scheduler, feedback, report, backlog)
    if options.sweep:
        listener.keep_deadly(deadly_calls(session, options.patterns))
        if since := store.since(key):
            store.carry_cells(key, since, first)
        now = session.clock()
        until = None if seconds is None else now + (began + seconds - now) * SWEEP_SHARE
        budget = None if options.tests is None else int(options.tests * SWEEP_SHARE)
        scheduler.begin_sweep(SweepSchedule(session, plan, listener.cells, scheduler.order, until, budget))
    pool = Pool(zygote, session.workers, Limits(timeout=options.timeout))
    started = session.clock()
    # The time before the first test is a part of the time-box.
    total = float(options.tests or 1) if seconds is None else max(began + seconds - started, 1.0)
    session.watch.phase("fuzzing", total)

    def over() -> bool:
        now = session.clock()
        spent = 0.0 if seconds is None else (now - began) / seconds
        full = queue.is_full if queue is not None else backlog is not None and backlog.is_full(now)
        return session.stopped() or spent >= 1.0 or (full and spent >= LEAST_SHARE)

    def width() -> int:
        return max(session.workers - (queue.running if queue is not None else 0), 1)

    def tick() -> None:
        if queue is not None:
            queue.step(fuzzing=True)
            if seconds is not None and queue.spare < math.inf:
                # The fuzz ends when the findings that wait fill the rest, but not before its least share.
                session.watch.limit(max(queue.spare, began + seconds * LEAST_SHARE - session.clock()))
        report.seconds = session.clock() - started
        report.deaths = pool.deaths
        report.cells = listener.cells.tried
        feedback.save()
        listener.cells.save()
        run.tell(report)
        done = report.seconds if seconds is not None else report.tests
        if done * GROWTH_POINTS >= total * len(report.growth):
            listener.point()
        listener.show(done, queue.figures if queue is not None else {}, queue.work if queue is not None else ())

    try:
        pool.run(listener, over, tick, width)
    finally:
        feedback.save(at_once=True)
        listener.cells.save(at_once=True)
    tick()
    spent = session.clock() - began
    if seconds is not None and spent < seconds and not session.stopped():
        ended = f"fuzzing ended after {spent:.0f} of {seconds:.0f} s"
        waiting = len(session.store.pending_findings(session.target.key))
        why = (
            f"{waiting} findings wait, and the remaining time is for examining them"
            if waiting
            else "the time-box is over"
        )
        session.watch.note(f"{ended}: {why}")
