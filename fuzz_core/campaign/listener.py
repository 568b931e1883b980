"""Reports of fuzzing workers: findings go on record, new behaviour joins the corpus, the scheduler learns."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from fuzz_core.campaign.bench import CRASH, PLAIN
from fuzz_core.campaign.scheduler import FINDING_REWARD, ExaminationBacklog, Scheduler
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.sweep import CellLog
from fuzz_core.campaign.watch import Work
from fuzz_core.execution.pool import Lease
from fuzz_core.ir.codec import decode_test, encode_test
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.ir.wire import FindingReport, LeaseDone, NoveltyReport, OutcomeReport, Report
from fuzz_core.oracles.kinds import check_kind
from fuzz_core.store.findings import News, OperatorRow
from fuzz_core.store.store import Store
from fuzz_core.triage.signature import signature
from fuzz_core.worker.observers import Corpus, CorpusMember
from fuzz_core.worker.plan import Plan
from nightfuzz.reports.markdown import counted

MAX_CLASSES = 400
MAX_MEMBERS = 64
MAX_TEST = 3000
CLASS_REWARD = 0.02
OPERATOR_REWARD = 0.1
SAVE_SECONDS = 2.0
KEPT_PER_SIGNATURE = 4


@dataclass
class FuzzReport:
    """Figures of one run.

    `kept` findings are on record; all further ones repeat a signature more than four times.
    """

    run: int = 0
    apis: int = 0  # apis with a call to mutate
    start_up: float = 0.0  # seconds before the first test
    tests: int = 0
    cells: int = 0  # cells of the sweep that were tried
    seconds: float = 0.0
    findings: int = 0
    kept: int = 0
    deaths: int = 0
    inside: float = 0.0  # seconds that workers spent in calls of the library, of `working` seconds on leases
    working: float = 0.0
    sweeping: float = 0.0  # seconds of `working` on the sweep's leases
    cold: int = 0  # number of tests that a compiler ran for
    compiling: float = 0.0  # seconds of these tests
    classes: int = 0  # outcome classes that are known by now, including those of earlier runs
    operators: int = 0  # operators that are known by now, including those of earlier runs
    members: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    # Samples of (seconds, tests, classes, operators, kept).
    growth: list[tuple[float, int, int, int, int]] = field(default_factory=list)
    spent: dict[str, tuple[float, int]] = field(default_factory=dict)  # seconds of workers and number of tests, by api

    def count(self, api: str, seconds: float, tests: int) -> None:
        """Add what a lease of an api took."""
        before, known = self.spent.get(api, (0.0, 0))
        self.spent[api] = before + seconds, known + tests

    def add(self, later: FuzzReport) -> None:
        """Add a later run on the same target: totals of the state are those of the later run."""
        self.growth += [
            (self.seconds + seconds, self.tests + tests, classes, operators, self.kept + kept)
            for seconds, tests, classes, operators, kept in later.growth
        ]
        for name in ("run", "classes", "operators", "members"):
            setattr(self, name, getattr(later, name))
        for name in (
            "tests",
            "cells",
            "seconds",
            "findings",
            "kept",
            "deaths",
            "inside",
            "working",
            "sweeping",
            "cold",
            "compiling",
        ):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.apis, self.start_up = max(self.apis, later.apis), max(self.start_up, later.start_up)
        self.outcomes += later.outcomes
        for api, (seconds, tests) in later.spent.items():
            self.count(api, seconds, tests)

    @property
    def rate(self) -> float:
        """Executed tests per second of wall time."""
        return self.tests / self.seconds if self.seconds else 0.0

    @property
    def warm_rate(self) -> float:
        """Tests per second of wall time without compiling."""
        share = (self.working - self.compiling) / self.working if self.working else 0.0
        return (self.tests - self.cold) / (self.seconds * share) if self.seconds * share else 0.0

    @property
    def speed(self) -> str:
        """The rate, and if any test was compiled for, also the rate without compiling."""
        if not self.cold:
            return f"{self.rate:,.0f} per second"
        return f"{self.rate:,.0f} per second, {self.warm_rate:,.0f} without the {self.cold:,} that compiled something"

    def summary(self) -> dict[str, Any]:
        """Return the figures as JSON data; costs in microseconds per test, by api."""
        costs = {api: round(seconds / tests * 1e6, 1) for api, (seconds, tests) in sorted(self.spent.items()) if tests}
        own: dict[str, Any] = {**vars(self), "outcomes": dict(self.outcomes), "costs": costs}
        del own["spent"]
        rounded = {name: round(own[name], 3) for name in ("seconds", "inside", "working", "sweeping", "compiling")}
        return {
            **own,
            **rounded,
            "tested_apis": self.tested_apis,
            "rate": round(self.rate, 1),
            "warm_rate": round(self.warm_rate, 1),
        }

    @property
    def tested_apis(self) -> int:
        """How many apis a test has called."""
        return sum(tests > 0 for _, tests in self.spent.values())

    @property
    def headline(self) -> str:
        """Return the figures in a line."""
        apis = f"{self.tested_apis} of " * (self.tested_apis < self.apis) + counted(self.apis, "api")
        tested = f"{counted(self.tests, 'test')} of {apis} in {self.seconds:.0f} s"
        return f"{tested} ({self.speed}), {counted(self.deaths, 'worker')} died"


class RecordedFinding(NamedTuple):
    """A finding of this run: whether it is the first of its signature in the run, and whether it is on record."""

    signature: str
    first: bool
    added: bool


@dataclass
class FindingRecorder:
    """Put the findings of one run on one target on record as they come, a few of each signature."""

    store: Store
    target: str
    run: int
    seen: Counter[str] = field(default_factory=Counter)

    def keep(self, test: TestCase, verdict: Verdict, outcome: Outcome, origin: str = "") -> RecordedFinding:
        """Commit a finding unless its signature has been kept four times in this run."""
        text = signature(test.invocation.api, verdict, outcome).text
        self.seen[text] += 1
        added = self.seen[text] <= KEPT_PER_SIGNATURE and (
            self.store.add_finding(self.target, self.run, test, verdict, outcome, origin) is not None
        )
        return RecordedFinding(text, self.seen[text] == 1, added)


class Feedback:
    """New behaviour by api, for workers and for the record: outcome classes, operators, and the corpus.

    Args:
        grow: whether test cases with new behaviour join the corpus.
    """

    def __init__(self, session: Session, grow: bool) -> None:
        self.session = session
        self.grow = grow
        # Outcome classes in the order in which they were first shown, each with the test that joined the corpus for it.
        self.news: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
        self.classes = 0
        self.members: Counter[str] = Counter()
        self.unsaved: tuple[list[News], list[OperatorRow]] = ([], [])
        self.saved = session.clock()
        target = session.target.key
        self.operators = {(name, dtype) for name, dtype, _ in session.store.operators(target)}
        for known in session.store.news(target):
            self._append(known if grow else known._replace(test=None))

    def take(self, api: str, report: NoveltyReport, timed: bool) -> float:
        """Take a worker's report about an api, and return as a reward how much of it is new.

        Run time decides which tests are watched for operators: only a `timed` run is rewarded for them.

        Raises:
            CodecError: a report about another api.
        """
        return self._class(api, report) + self._operators(api, report.operators) * timed

    def _class(self, api: str, report: NoveltyReport) -> float:
        if not report.shown or report.shown in self.news[api] or len(self.news[api]) >= MAX_CLASSES:
            return 0.0
        if report.test is None or report.test.invocation.api != api:
            raise CodecError(f"news of another api from a lease of {api}")
        full = self.members[api] >= MAX_MEMBERS
        body = json.dumps(encode_test(report.test))
        # A refused test is refused again however it is mutated, so it does not join the corpus.
        joins = self.grow and report.kind == "ok" and not full and len(body) <= MAX_TEST
        news = News(api, report.shown, report.kind, body if joins else None)
        self._append(news)
        self.unsaved[0].append(news)
        return CLASS_REWARD

    def _append(self, news: News) -> None:
        self.news[news.api][news.outcome_class] = news.test
        self.classes += 1
        self.members[news.api] += news.test is not None

    def _operators(self, api: str, operators: Sequence[str]) -> float:
        parted = (text.rpartition(" ") for text in operators)
        # Tested one by one: a set difference would walk through all known operators.
        fresh = {(name, dtype) for name, _, dtype in parted if (name, dtype) not in self.operators}
        self.operators |= fresh
        self.unsaved[1].extend(OperatorRow(name, dtype, api) for name, dtype in sorted(fresh))
        return OPERATOR_REWARD * len(fresh)

    def known_to(self, api: str, shown: int) -> Sequence[CorpusMember]:
        """Return the members of the corpus among the first `shown` items of an api's `news`.

        They are decoded on request, which only a death causes: live, all of them are hundreds of megabytes.
        """
        corpus = Corpus()
        for test in islice(self.news[api].values(), shown):
            if test is not None:
                corpus.add(decode_test(json.loads(test)))
        return corpus.of(api)

    def save(self, at_once: bool = False) -> None:
        """Commit the unsaved items at intervals.

        A kill loses two seconds of them, which the next run sees again.
        """
        if any(self.unsaved) and (at_once or self.session.clock() - self.saved >= SAVE_SECONDS):
            self.session.store.save_news(self.session.target.key, *self.unsaved)
            self.unsaved = ([], [])
            self.saved = self.session.clock()


@dataclass
class FuzzListener:
    """Listener of the pool (see `execution.pool.Listener`).

    A death is a finding re-created from the plan by its number.
    """

    session: Session
    plan: Plan
    scheduler: Scheduler
    feedback: Feedback
    report: FuzzReport
    # Counts the findings left to examine, if the fuzz is to end early for them.
    backlog: ExaminationBacklog | None = None
    # The work of the workers, by the number of their lease.
    started: dict[int, Work] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.recorder = FindingRecorder(self.session.store, self.session.target.key, self.report.run)
        self.cells = CellLog(self.session)

    def next_lease(self) -> Lease | None:
        """See `execution.pool.Listener`."""
        lease = self.scheduler.next()
        if lease is not None:
            self.started[lease.number] = Work(lease.api, self.session.clock())
            lease.news = self.feedback.news[lease.api]
        return lease

    def message(self, lease: Lease, report: Report | None) -> None:
        """See `execution.pool.Listener`."""
        try:
            match report:
                case LeaseDone():
                    self._done(lease, report)
                case OutcomeReport(ran, outcome, shown) if self.scheduler.sweep is not None:
                    self.scheduler.sweep.record(lease, ran, outcome, shown)
                case NoveltyReport():
                    reward = self.feedback.take(lease.api, report, timed=self.scheduler.timeouts is not None)
                    self.scheduler.credit(lease.api, reward)
                case FindingReport(test, verdict, outcome):
                    check_kind(verdict.oracle, verdict.kind)
                    self.keep(test, verdict, outcome)
                case None:
                    raise CodecError("it has another form")
        except CodecError as error:
            self.session.watch.note(f"unreadable report from a worker dropped: {error}")

    def _done(self, lease: Lease, done: LeaseDone) -> None:
        counts, report = done.counts, self.report
        executed = sum(counts.values()) - counts.get("duplicate", 0) - counts.get("postponed", 0)
        report.outcomes.update(counts)
        report.tests += executed
        report.working += done.seconds
        report.sweeping += done.seconds * lease.sweep
        report.inside += min(done.inside, done.seconds)
        report.cold += min(done.cold, executed)
        report.compiling += min(done.compiling, done.seconds)
        report.count(lease.api, done.seconds, executed)
        self.cells.count(lease, executed, done.seconds)
        following = done.next if lease.first <= done.next <= lease.last else lease.last
        self.scheduler.done(lease, following, done.seconds, executed, done.longest)
        self.started.pop(lease.number, None)
        self.touched.add(lease.api)

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        """See `execution.pool.Listener`."""
        now = self.session.clock()
        spent = now - self.started.pop(lease.number, Work(lease.api, now)).since
        self.report.tests += max(index - lease.first, 0) + 1
        self.report.outcomes[outcome.kind] += 1
        self.touched.add(lease.api)
        dialect = self.session.dialect
        mode = dialect.way_of(lease.died_in, timed=outcome.kind == "timeout")
        verdict = CRASH.judge({mode or PLAIN: outcome}, dialect)
        if not verdict.clean:
            known = self.feedback.known_to(lease.api, lease.shown)
            self.keep(self.plan.test(lease.api, index, known, lease.rows), verdict, outcome)
        self.cells.count(lease, max(index - lease.first, 0) + 1, spent)
        if self.scheduler.sweep is not None:
            self.scheduler.sweep.record(lease, index, outcome)
            self.cells.save(at_once=True)
        self.scheduler.died(lease, index, spent)

    def keep(self, test: TestCase, verdict: Verdict, outcome: Outcome) -> None:
        """Put a finding on record; the first of its signature earns its api further turns."""
        if self._record(test, verdict, outcome):
            self.scheduler.credit(test.invocation.api, FINDING_REWARD)

    def keep_deadly(self, calls: Iterable[tuple[TestCase, Outcome]]) -> None:
        """Put recorded calls on record as findings that ended their process when they were checked."""
        for test, outcome in calls:
            verdict = CRASH.judge({PLAIN: outcome}, self.session.dialect)
            if not verdict.clean:
                self._record(test, verdict, outcome)

    def _record(self, test: TestCase, verdict: Verdict, outcome: Outcome) -> bool:
        """Put a finding on record; returns whether it is the first of its signature."""
        recorded = self.recorder.keep(test, verdict, outcome)
        self.report.findings += 1
        self.report.kept += recorded.added
        if recorded.first and self.backlog is not None:
            self.backlog.add([verdict.kind])
        return recorded.first

    def point(self) -> None:
        """Add a point to the report's growth."""
        report, feedback = self.report, self.feedback
        report.classes, report.operators = feedback.classes, len(feedback.operators)
        report.members = feedback.members.total()
        report.growth.append((round(report.seconds, 2), report.tests, report.classes, report.operators, report.kept))

    def show(self, done: float, triage: Mapping[str, int], examined: Sequence[Work] = ()) -> None:
        """Show progress.

        Args:
            triage: figures of the examinations beside the fuzz.
            examined: what these examinations are about.
        """
        report, sweep = self.report, self.scheduler.sweep
        self.session.watch.work([*self.started.values(), *examined])
        self.session.watch.advance(
            done,
            tests=report.tests,
            rate=f"{report.rate:,.0f}/s",
            **{"in library": f"{report.inside / report.working if report.working else 0:.0%}"},
            apis=f"{len(self.touched)}/{report.apis}",
            **({} if sweep is None else {"sweep": f"{sweep.swept}/{sweep.total}"}),
            classes=self.feedback.classes,
            operators=len(self.feedback.operators),
            findings=report.kept,
            deaths=report.deaths,
            **triage,
        )
