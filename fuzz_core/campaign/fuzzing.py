"""The time-boxed fuzz: leases out, findings in, each committed as it comes."""

from __future__ import annotations

import fnmatch
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rapidfuzz import process as nearest

from fuzz_core.campaign.planning import make_plan
from fuzz_core.campaign.scheduling import FairSchedule, slice_for
from fuzz_core.campaign.session import Session
from fuzz_core.execution.pool import Lease, Limits, Pool
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.codec import decode_test
from fuzz_core.ir.errors import CodecError, UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import ORACLES, oracle_of
from fuzz_core.store.records import Body
from fuzz_core.triage.signature import signature
from fuzz_core.worker.plan import Plan

KEPT_PER_SIGNATURE = 4


@dataclass
class FuzzOptions:
    """seconds or tests bound the run (tests alone makes it independent of the clock). disabled: mutator kinds."""

    seconds: float | None = 60.0
    tests: int | None = None
    patterns: Sequence[str] = ()
    seed: int = 0
    disabled: Sequence[str] = ()
    oracles: Sequence[str] = tuple(ORACLES)
    timeout: float = 3.0


@dataclass
class FuzzReport:
    """Figures of one run. `kept` findings are on record, the rest repeated a signature more than four times."""

    run: int = 0
    apis: int = 0
    tests: int = 0
    seconds: float = 0.0
    findings: int = 0
    kept: int = 0
    deaths: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        """Executed tests per second of wall time."""
        return self.tests / self.seconds if self.seconds else 0.0


def fuzz(session: Session, options: FuzzOptions) -> FuzzReport:
    """Fuzzes within the bounds and returns the figures; findings are pending in the store."""
    rows = _choose(session, options.patterns)
    report = FuzzReport()
    began = session.clock()
    with tempfile.TemporaryDirectory(prefix="nightfuzz-") as folder:
        path = Path(folder) / "plan.jsonl"
        session.watch.phase("preparing")
        make_plan(session, path, rows, seed=options.seed, oracles=options.oracles, disabled=options.disabled)
        with Zygote(session.target.python, session.target.library, "fuzz", path, session.stopped) as zygote:
            _check_time_box(session.clock() - began, options)
            report.run = session.store.start_run(session.target.key, options.seed, _options(options))
            _run(session, options, Plan(path), zygote, report, began)
    session.store.finish_run(report.run, "interrupted" if session.stopped() else "done", summary(report))
    return report


def _options(options: FuzzOptions) -> dict[str, Any]:
    lists = {"patterns": list(options.patterns), "disabled": list(options.disabled), "oracles": list(options.oracles)}
    return {"seconds": options.seconds, "tests": options.tests, "timeout": options.timeout, **lists}


def _check_time_box(start_up: float, options: FuzzOptions) -> None:
    if options.seconds is not None and options.seconds <= start_up:
        raise UserError(
            f"the time-box of {options.seconds:g} s is over before the first test: starting took {start_up:.1f} s",
            f"give it at least {start_up * 3:.0f} s",
        )


def _choose(session: Session, patterns: Sequence[str]) -> list[Body]:
    """Valid invocations, and the developers' error inputs as starting points, of the apis that match."""
    rows = [r for r in session.store.bodies(session.target.key) if r.valid or r.expected == "exception"]
    if not rows:
        raise UserError(
            f"nothing to fuzz: no valid invocation of {session.target.key} is on record", "run `nightfuzz trace` first"
        )
    if not patterns:
        return rows
    names = sorted({row.api for row in rows})
    chosen: set[str] = set()
    for pattern in patterns:
        found = fnmatch.filter(names, pattern)
        if not found:
            close = ", ".join(match[0] for match in nearest.extract(pattern, names, limit=3))
            raise UserError(f"no traced api matches {pattern!r}", f"nearest: {close}")
        chosen.update(found)
    return [row for row in rows if row.api in chosen]


def _run(session: Session, options: FuzzOptions, plan: Plan, zygote: Zygote, report: FuzzReport, began: float) -> None:
    counts = {api: plan.count(api) for api in plan.lines}
    report.apis = len(counts)
    seconds = None if options.tests is not None else options.seconds
    part = None if seconds is None else slice_for(seconds, session.workers, len(counts))
    schedule = FairSchedule(counts, options.seed, session.clock, part, options.tests)
    listener = _Fuzzing(session, plan, schedule, report)
    pool = Pool(zygote, session.workers, Limits(timeout=options.timeout))
    session.watch.phase("fuzzing", seconds or options.tests or 0)
    started = session.clock()

    def over() -> bool:
        return session.stopped() or (seconds is not None and session.clock() - began >= seconds)

    def tick() -> None:
        report.seconds = session.clock() - started
        report.deaths = pool.deaths
        listener.show(report.seconds if seconds is not None else report.tests)

    pool.run(listener, over, tick)
    tick()


class _Fuzzing:
    """Keeps what workers report; a death is a finding re-created from the plan by its number."""

    def __init__(self, session: Session, plan: Plan, schedule: FairSchedule, report: FuzzReport) -> None:
        self.session = session
        self.plan = plan
        self.schedule = schedule
        self.report = report
        self.crash = oracle_of("crash")
        self.kept: Counter[str] = Counter()
        self.started: dict[int, float] = {}
        self.touched: set[str] = set()

    def next_lease(self) -> Lease | None:
        lease = self.schedule.next()
        if lease is not None:
            self.started[lease.number] = self.session.clock()
        return lease

    def message(self, lease: Lease, message: dict[str, Any]) -> None:
        if message.get("done") == lease.number:
            self._count(message.get("counts"))
            following, seconds = message.get("next"), message.get("seconds")
            following = following if type(following) is int and lease.first <= following <= lease.last else lease.last
            self.schedule.done(lease, following, seconds if isinstance(seconds, float) else 1.0)
            self.started.pop(lease.number, None)
            self.touched.add(lease.api)
        elif "finding" in message:
            try:
                test = decode_test(message.get("test"))
                verdict = _verdict(message.get("verdict"))
                self.keep(test, verdict, Outcome.from_json(message.get("outcome")))
            except CodecError as error:
                self.session.watch.note(f"unreadable finding from a worker dropped: {error}")

    def _count(self, counts: Any) -> None:
        for kind, count in counts.items() if isinstance(counts, dict) else ():
            if type(count) is int:
                self.report.outcomes[str(kind)] += count
                self.report.tests += count if kind != "duplicate" else 0

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        spent = self.session.clock() - self.started.pop(lease.number, self.session.clock())
        self.report.tests += max(index - lease.first, 0) + 1
        self.report.outcomes[outcome.kind] += 1
        self.schedule.died(lease, index, spent)
        self.touched.add(lease.api)
        verdict = self.crash.judge({"cpu": outcome}, self.session.dialect)
        if not verdict.clean:
            self.keep(self.plan.test(lease.api, index), verdict, outcome)

    def keep(self, test: TestCase, verdict: Verdict, outcome: Outcome) -> None:
        """Commits a finding unless its signature has been kept four times in this run."""
        report = self.report
        report.findings += 1
        text = signature(test.invocation.api, verdict, outcome).text
        self.kept[text] += 1
        if self.kept[text] <= KEPT_PER_SIGNATURE:
            added = self.session.store.add_finding(self.session.target.key, report.run, test, verdict, outcome)
            report.kept += added is not None

    def show(self, done: float) -> None:
        """Shows progress and checkpoints the run."""
        report = self.report
        self.session.watch.advance(
            done,
            tests=report.tests,
            rate=f"{report.rate:,.0f}/s",
            apis=f"{len(self.touched)}/{report.apis}",
            findings=report.kept,
            deaths=report.deaths,
        )


def _verdict(data: Any) -> Verdict:
    match data:
        case [str(oracle), str(kind), str(detail)]:
            return Verdict(oracle, kind, detail)
    raise CodecError(f"not a verdict: {str(data)[:200]}")


def summary(report: FuzzReport) -> dict[str, Any]:
    """The report as JSON data."""
    return {
        "apis": report.apis,
        "tests": report.tests,
        "seconds": round(report.seconds, 3),
        "rate": round(report.rate, 1),
        "findings": report.findings,
        "kept": report.kept,
        "deaths": report.deaths,
        "outcomes": dict(report.outcomes),
    }
