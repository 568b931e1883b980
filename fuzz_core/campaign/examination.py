"""From pending findings to bugs: replay, minimise, confirm by script in fresh processes, sign, settle."""

from __future__ import annotations

import itertools
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_core.adapters.dialect import LIBRARIES
from fuzz_core.campaign.cases import consult, review
from fuzz_core.campaign.history import review_standings
from fuzz_core.campaign.planning import make_replay_plan
from fuzz_core.campaign.privacy import worst_suspicion
from fuzz_core.campaign.reproduce import (
    CRASH,
    HANG_FACTOR,
    HANG_IMPORT_SECONDS,
    PLAIN,
    Attempt,
    Bench,
    Benches,
    strategy,
)
from fuzz_core.campaign.session import Session, run_parallel
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.modelgen.gandalf.scripts import is_of_shape
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.store.checks import KNOWN
from fuzz_core.store.records import BugRow, FindingRow, NewBug
from fuzz_core.triage.assess import SLACK, excuse
from fuzz_core.triage.cost import cost
from fuzz_core.triage.known import Registry
from fuzz_core.triage.process import Confirmation
from fuzz_core.triage.reduce import minimise, slice_of
from fuzz_core.triage.signature import signature
from nightfuzz.reports.contradiction import contradiction

TRIED_PER_GROUP = 3
RESERVE_SECONDS = 10.0
# Share of each group's time that goes to minimising its findings; the remaining time is for confirming.
MINIMISING_SHARE = 0.5


@dataclass
class TriageOptions:
    """Options of an examination.

    deadline: clock time after which no new work begins. bug_seconds: for minimising one, at most. runs: fresh
    processes.
    """

    deadline: float | None = None
    bug_seconds: float = 60.0
    runs: int = 5
    timeout: float = 3.0
    known: Registry = field(default_factory=Registry)


@dataclass
class TriageReport:
    """Findings settled by status, bugs to report by id, findings of known bugs, and what waits for the next time."""

    settled: Counter[str] = field(default_factory=Counter)
    bugs: list[int] = field(default_factory=list)
    known: int = 0
    left: int = 0

    def add(self, later: TriageReport) -> None:
        """Counts a later examination; what waits now is what that one left."""
        self.settled += later.settled
        self.bugs += [bug for bug in later.bugs if bug not in self.bugs]
        self.known += later.known
        self.left = later.left


def examine(session: Session, options: TriageOptions) -> TriageReport:
    """Settles pending findings, simplest first; what the deadline leaves stays pending."""
    report = TriageReport(bugs=review(session.store, options.known))
    groups = _groups(session.store.pending_findings(session.target.key))
    total = sum(map(len, groups))
    before = {bug.id for bug in _unfinished(session)}
    if not groups and not before:
        return report
    session.watch.phase("confirming and minimising", total)
    with scratch() as folder, ThreadPoolExecutor(session.workers, "triage") as threads:
        plan = folder / "plan.jsonl"
        make_replay_plan(session, plan)
        with closing(Examiner(session, options, plan, len(groups))) as examiner:
            work, reserve = examiner.examine, examiner.reserve
            for group, found in run_parallel(session, threads, groups, work, options.deadline, reserve):
                if found is not None:
                    _settle(session, options.known, group, found, report)
                    session.watch.advance(sum(report.settled.values()), bugs=len(report.bugs), **report.settled)
            for bug in _unfinished(session):
                # Bugs of this run count too if a deadline has cut them short; otherwise they have had the most that one
                # may take.
                finding = session.store.findings(session.target.key, bug=bug.id)[0]
                late = session.is_over(options.deadline, examiner.hanging(finding, 1))
                if late or (options.deadline is None and bug.id not in before):
                    continue
                better = threads.submit(examiner.improve, finding, bug).result()
                if better is not None:
                    session.store.improve_bug(bug.id, better)
    report.left = total - sum(report.settled.values())
    return report


def _unfinished(session: Session) -> list[BugRow]:
    return [bug for bug in session.store.bugs(session.target.key) if not bug.minimised]


def _groups(findings: Sequence[FindingRow]) -> list[list[FindingRow]]:
    """Findings that look alike before examination, simplest test case first."""
    groups: dict[str, list[FindingRow]] = defaultdict(list)
    for finding in findings:
        groups[signature(finding.api, finding.verdict, finding.outcome).text].append(finding)
    for group in groups.values():
        group.sort(key=lambda finding: (cost(finding.test), finding.id))
    return _in_turn(groups)


def _in_turn(groups: Mapping[str, list[FindingRow]]) -> list[list[FindingRow]]:
    """Returns groups in an order that gives exceptions, deaths and hangs equal shares of the time.

    Within each kind, a group with a failure that no group before it had comes first.
    """
    alike: Counter[tuple[str, str]] = Counter()
    ranked: defaultdict[str, list[tuple[int, int, int, list[FindingRow]]]] = defaultdict(list)
    for text, group in sorted(groups.items(), key=lambda item: item[1][0].id):
        kind, fault = group[0].verdict.kind, text.partition(": ")[2]
        expense = kind_of(kind).expense
        ranked[kind if expense > 1 else ""].append((alike[kind, fault], group[0].id, expense, group))
        alike[kind, fault] += 1
    turns = [
        ((place + 1) * expense, number, group)
        for those in ranked.values()
        for place, (_, number, expense, group) in enumerate(sorted(those, key=lambda each: each[:2]))
    ]
    return [group for *_, group in sorted(turns, key=lambda each: each[:2])]


@dataclass
class Examination:
    """Result of examining a group: the finding that was decided on, its status and, when confirmed, its bug."""

    finding: FindingRow
    status: str = "rejected"
    reason: str = ""
    hits: int = 0
    runs: int = 0
    bug: NewBug | None = None


class Examiner:
    """Does a finding reproduce, how small can it be, is it the same each time.

    plan: for benches that replay. waiting: how many groups have not begun.
    """

    def __init__(self, session: Session, options: TriageOptions, plan: Path | None = None, waiting: int = 0) -> None:
        self.session = session
        self.dialect = session.dialect
        self.options = options
        self.waiting = waiting
        self.lock = threading.Lock()
        self.benches = Benches(session, options.timeout, {session.target.key: plan})
        self.close = self.benches.close

    @property
    def bench(self) -> Bench:
        """Bench that belongs to the calling thread."""
        return self.benches.on(self.session.target)

    def examine(self, group: Sequence[FindingRow]) -> Examination | None:
        """The first confirmed finding decides; else the one that reproduced most often; None: no time for any."""
        options, seconds = self.options, self.options.bug_seconds
        with self.lock:
            waiting, self.waiting = self.waiting, self.waiting - 1
        if options.deadline is not None:
            # All waiting findings are to be confirmed before any is minimised to the end.
            left = (options.deadline - self.session.clock()) * self.session.workers
            seconds = min(seconds, MINIMISING_SHARE * left / max(waiting, 1))
        timely = itertools.takewhile(lambda _: not self._over(), group[:TRIED_PER_GROUP])
        return _decisive(self._one(finding, seconds) for finding in timely)

    def improve(self, finding: FindingRow, bug: BugRow) -> NewBug | None:
        """Minimises a bug further whose minimising was cut short; None where it does not become smaller."""
        start = finding._replace(api=bug.api, test=bug.test)
        found = self._one(start, self.options.bug_seconds, known=True).bug
        return found if found is not None and found.signature == bug.signature_text else None

    def reserve(self, group: Sequence[FindingRow]) -> float:
        """About what an examination takes, in seconds: begun later, it would outlast the time-box."""
        return RESERVE_SECONDS + self.hanging(group[0], 1 + SLACK)

    def hanging(self, finding: FindingRow, more: float) -> float:
        """Seconds that scripts of a finding hang for, if they do, with so many looks beside those that confirm."""
        looks = self.options.runs + more if finding.verdict.kind == "hang" else 0.0
        return looks * self.options.timeout * HANG_FACTOR

    def _over(self) -> bool:
        return self.session.is_over(self.options.deadline)

    def _one(self, finding: FindingRow, seconds: float, known: bool = False) -> Examination:
        """seconds: for minimising, at most."""
        try:
            if finding.verdict.kind == "hang" and not known and (why := self._excuse(finding)):
                return Examination(finding, reason=why, runs=1)
            return self.confirm(finding, *self._minimised(finding, seconds))
        except CodecError as error:
            return Examination(finding, reason=f"cannot be written as a script: {error}")

    def confirm(self, finding: FindingRow, small: TestCase, smallest: bool = False) -> Examination:
        """Confirms a finding in fresh processes that was minimised to `small`; smallest: whether it was minimised to
        the end.
        """
        way = strategy(self.bench, finding.verdict)
        tried = ((each, *way.confirm(each, self.options.runs)) for each in way.attempts(finding, small))
        found = _decisive(self._decided(*each, smallest and each[0].test == small) for each in tried)
        assert found is not None
        return found

    def _excuse(self, finding: FindingRow) -> str:
        """Most time-outs are long work: one look at five times the limit, alone, before any minimising."""

        def seconds(test: TestCase) -> float | None:
            told = self.bench.replayer.tell(test).get(PLAIN, ())
            return told[0].outcome.seconds if told and told[0].outcome.kind in ("ok", "exception") else None

        def hangs(limit: float) -> bool:
            # A script that dies fails, too.
            script = Attempt(finding, finding.test, True).script(self.dialect)
            outcome = self.bench.run(script, "hang", limit + HANG_IMPORT_SECONDS)
            return not CRASH.judge({PLAIN: outcome}, self.dialect).clean

        return excuse(finding.test, seconds, hangs, self.options.timeout * HANG_FACTOR)

    def _minimised(self, finding: FindingRow, seconds: float) -> tuple[TestCase, bool]:
        """The smallest test case with the finding's signature, and whether it is; the original if none replays."""
        first = self.bench.evidence(finding.test, finding)
        if first is None:
            return finding.test, False
        end, late = self.session.clock() + seconds, False
        if (deadline := self.options.deadline) is not None:
            # Time is kept so that a found bug can be confirmed before the deadline.
            run = self.options.timeout * HANG_FACTOR if finding.verdict.kind == "hang" else 1.0
            end = min(end, deadline - self.options.runs * run)
        stated, program = finding.verdict.mode == LIBRARIES, finding.test.program
        depends = () if not stated or is_of_shape(program) else slice_of(program)

        def over() -> bool:
            nonlocal late
            late = late or self.session.clock() >= end or self._over()
            return late

        def reproduces(test: TestCase) -> bool:
            # The program contains the reference that it is compared with: a program that computes another value is no
            # evidence.
            if depends and slice_of(test.program) != depends:
                return False
            seen = self.bench.evidence(test, finding)
            return seen is not None and (not stated or seen.text == first.text)

        small = minimise(finding.test, reproduces, over)
        return small, not late

    def _decided(self, attempt: Attempt, seen: Confirmation, verdict: Verdict, smallest: bool) -> Examination:
        finding, test = attempt.finding._replace(verdict=verdict), attempt.test
        if not seen.hits or seen.hits < seen.runs:
            status = "flaky" if seen.hits else "rejected"
            reason = f"{seen.outcome.kind} {seen.outcome.name}: {seen.outcome.text[-200:]}"
            return Examination(finding, status, reason, seen.hits, seen.runs)
        decided = attempt._replace(finding=finding)
        outcome = self.bench.with_frames(seen.outcome, decided.script(self.dialect))
        # If the smallest call is one that was an argument, the finding takes its api.
        api = test.invocation.api
        text = signature(api, verdict, outcome).text
        # Written again with what happened in the fresh process, which may say more than the first sight did.
        script = attempt._replace(finding=finding._replace(outcome=outcome)).script(self.dialect)
        head = (text, api, verdict.oracle, verdict.kind)
        suspicion = worst_suspicion(self.bench, decided, outcome)
        bug = NewBug(*head, test, script, outcome, seen.hits, seen.runs, smallest, suspicion)
        return Examination(finding, "confirmed", "", seen.hits, seen.runs, bug)


def _decisive(examinations: Iterable[Examination]) -> Examination | None:
    """The first confirmed one, after which none is asked for; else the one with most hits; None out of none."""
    best: Examination | None = None
    for found in examinations:
        if found.status == "confirmed":
            return found
        if best is None or found.hits > best.hits:
            best = found
    return best


def _settle(
    session: Session, registry: Registry, group: list[FindingRow], found: Examination, report: TriageReport
) -> None:
    """The examined finding carries the bug; its look-alikes join it, or share its rejection."""
    store = session.store
    chosen = found.finding
    number = store.settle_finding(
        chosen.id, found.status, reason=found.reason, hits=found.hits, runs=found.runs, bug=found.bug
    )
    known = store.findings(session.target.key, bug=number) if number is not None else []
    new = number is not None and len(known) == 1
    # A finding of a bug on record is a duplicate, whatever its examination showed.
    report.settled[found.status if new or number is None else "duplicate"] += 1
    for other in group:
        if other.id != chosen.id:
            status = "duplicate" if number is not None else found.status
            store.settle_finding(other.id, status, reason=f"like finding {chosen.id}", bug=number)
            report.settled[status] += 1
    if number is None:
        return
    # New and returned bugs are reported, known ones are counted. Among the rows of all builds the first is the bug.
    first = store.later_rows().get(number, number)
    back = new and first in review_standings(store)
    if consult(store, registry, number, len(group), new and (first == number or back)):
        report.bugs.append(first)
        bug = store.bug(first)
        session.watch.note(f"bug {first}{' is back' * back}: {bug.api}: {contradiction(bug)}")
    elif store.bug(number).status == KNOWN:
        report.known += len(group)
