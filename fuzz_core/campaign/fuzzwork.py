"""What a fuzz does with its workers' reports: findings are kept, news is learnt, the schedule moves on."""

from __future__ import annotations

from typing import Any

from fuzz_core.campaign.due import Due
from fuzz_core.campaign.figures import FuzzReport
from fuzz_core.campaign.keeping import Keeping
from fuzz_core.campaign.kin import Kin
from fuzz_core.campaign.learning import FINDING_REWARD, KIN_REWARD, Learning
from fuzz_core.campaign.patience import Patience
from fuzz_core.campaign.scheduling import Schedule
from fuzz_core.campaign.session import Session
from fuzz_core.execution.pool import Lease
from fuzz_core.ir.codec import decode_test
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.kinds import check_kind
from fuzz_core.worker.plan import Plan


class FuzzWork:
    """Listens to the pool. A death is a finding re-created from the plan by its number.

    patience: time-outs from the apis' own history; None for the pool's own, always. due: told of new findings.
    """

    def __init__(
        self,
        session: Session,
        plan: Plan,
        schedule: Schedule,
        learning: Learning,
        patience: Patience | None,
        report: FuzzReport,
        due: Due | None = None,
    ) -> None:
        self.session = session
        self.plan = plan
        self.schedule = schedule
        self.learning = learning
        self.patience = patience
        self.report = report
        self.due = due
        self.crash = oracle_of("crash")
        self.kin = Kin(plan.similarity)
        self.keeping = Keeping(session.store, session.target.key, report.run)
        self.started: dict[int, float] = {}
        self.touched: set[str] = set()

    def next_lease(self) -> Lease | None:
        """See `execution.pool.Listener`."""
        lease = self.schedule.next()
        if lease is not None:
            self.started[lease.number] = self.session.clock()
            lease.timeout = None if self.patience is None else self.patience.of(lease.api)
            lease.news = self.learning.news[lease.api]
        return lease

    def message(self, lease: Lease, message: dict[str, Any]) -> None:
        """See `execution.pool.Listener`."""
        try:
            if message.get("done") == lease.number:
                self._done(lease, message)
            elif "news" in message:
                reward = self.learning.take(lease.api, message, timed=self.patience is not None)
                self.schedule.credit(lease.api, reward)
            elif "finding" in message:
                test, verdict = decode_test(message.get("test")), _verdict(message.get("verdict"))
                self.keep(test, verdict, Outcome.from_json(message.get("outcome")))
        except CodecError as error:
            self.session.watch.note(f"unreadable report from a worker dropped: {error}")

    def _done(self, lease: Lease, message: dict[str, Any]) -> None:
        executed = self._count(message.get("counts"))
        following = message.get("next")
        following = following if type(following) is int and lease.first <= following <= lease.last else lease.last
        seconds, inside, longest = (_seconds(message.get(name)) for name in ("seconds", "inside", "longest"))
        self.report.working += seconds
        self.report.inside += min(inside, seconds)
        cold = message.get("cold")
        self.report.cold += cold if type(cold) is int and 0 <= cold <= executed else 0
        self.report.compiling += min(_seconds(message.get("compiling")), seconds)
        self.report.count(lease.api, seconds, executed)
        if self.patience is not None:
            self.patience.learn(lease.api, executed, longest)
        self.schedule.done(lease, following, seconds)
        self.started.pop(lease.number, None)
        self.touched.add(lease.api)

    def _count(self, counts: Any) -> int:
        """Adds up a lease's outcomes; how many tests were executed."""
        whole = {str(kind): n for kind, n in counts.items() if type(n) is int} if isinstance(counts, dict) else {}
        self.report.outcomes.update(whole)
        executed = sum(whole.values()) - whole.get("duplicate", 0) - whole.get("postponed", 0)
        self.report.tests += executed
        return executed

    def death(self, lease: Lease, index: int, outcome: Outcome) -> None:
        """See `execution.pool.Listener`."""
        spent = self.session.clock() - self.started.pop(lease.number, self.session.clock())
        self.report.tests += max(index - lease.first, 0) + 1
        self.report.outcomes[outcome.kind] += 1
        self.touched.add(lease.api)
        dialect = self.session.dialect
        mode = lease.died_in if lease.died_in in dialect.ways else "cpu"
        verdict = self.crash.judge({mode: outcome}, dialect)
        if not verdict.clean:
            known = self.learning.known_to(lease.api, lease.shown)
            self.keep(self.plan.test(lease.api, index, known, lease.focus), verdict, outcome)
        self.schedule.died(lease, index, spent)

    def keep(self, test: TestCase, verdict: Verdict, outcome: Outcome) -> None:
        """Puts a finding on record; the first of its signature earns its api, and apis like it, further turns."""
        kept = self.keeping.keep(test, verdict, outcome)
        self.report.findings += 1
        self.report.kept += kept.added
        if kept.first and self.due is not None:
            self.due.add([verdict.kind])
        if kept.first:
            self.schedule.credit(test.invocation.api, FINDING_REWARD)
            self.schedule.encourage(self.kin.of(test.invocation.api), KIN_REWARD, test.rules)

    def point(self) -> None:
        """Adds a point to the report's growth."""
        report, learning = self.report, self.learning
        report.classes, report.operators = learning.classes, len(learning.operators)
        report.members = learning.members.total()
        report.growth.append((round(report.seconds, 2), report.tests, report.classes, report.operators, report.kept))

    def show(self, done: float) -> None:
        """Shows progress."""
        report = self.report
        self.session.watch.advance(
            done,
            tests=report.tests,
            rate=f"{report.rate:,.0f}/s",
            inside=f"{report.inside / report.working if report.working else 0:.0%}",
            apis=f"{len(self.touched)}/{report.apis}",
            classes=self.learning.classes,
            operators=len(self.learning.operators),
            findings=report.kept,
            deaths=report.deaths,
        )


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, float | int) and 0 <= value < 1e9 else 0.0


def _verdict(data: Any) -> Verdict:
    match data:
        case [str(oracle), str(kind), str(detail)]:
            check_kind(oracle, kind)
            return Verdict(oracle, kind, detail)
    raise CodecError(f"not a verdict: {str(data)[:200]}")
