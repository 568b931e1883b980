"""From pending findings to bugs: replay, minimise, confirm by script in fresh processes, sign, settle."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_core.campaign.examiner import Examination, Examiner
from fuzz_core.campaign.knowing import consult, review
from fuzz_core.campaign.parallel import PerThread, run_parallel
from fuzz_core.campaign.planning import make_plan
from fuzz_core.campaign.scripts import HANG_FACTOR
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.standing import review_standings
from fuzz_core.execution.scratch import scratch
from fuzz_core.execution.zygote import Zygote
from fuzz_core.oracles.contract import ORACLES
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.store.known import KNOWN
from fuzz_core.store.records import BugRow, FindingRow, NewBug
from fuzz_core.triage.assess import SLACK
from fuzz_core.triage.cost import cost
from fuzz_core.triage.known import Registry
from fuzz_core.triage.process import Processes
from fuzz_core.triage.signature import signature

TRIED_PER_GROUP = 3
RESERVE_SECONDS = 10.0
# Of what each group of findings has of the time that is left; the rest is for confirming.
MINIMISING_SHARE = 0.5


@dataclass
class TriageOptions:
    """deadline: clock time after which nothing new begins. bug_seconds: for minimising one, at most. runs: fresh
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
    with _plan(session) as plan, ThreadPoolExecutor(session.workers, "triage") as threads:
        examiners = _Examiners(session, options, plan, len(groups))
        try:
            examined = run_parallel(
                session, threads, groups, examiners, options.deadline, lambda each: _reserve(each, options)
            )
            for group, examination in examined:
                _settle(session, options.known, group, examination, report)
                session.watch.advance(sum(report.settled.values()), bugs=len(report.bugs), **report.settled)
            _improve(session, options, examiners, threads, before)
        finally:
            examiners.close()
    report.left = total - sum(report.settled.values())
    return report


def _unfinished(session: Session) -> list[BugRow]:
    return [bug for bug in session.store.bugs(session.target.key) if not bug.minimised]


def _improve(
    session: Session, options: TriageOptions, examiners: _Examiners, threads: ThreadPoolExecutor, before: set[int]
) -> None:
    """Bugs whose minimising was cut short are minimised further with the time that is left.

    Those of this run too where a deadline has cut them short; else they have had all the time that one may take.
    """
    for bug in _unfinished(session):
        if options.deadline is None and bug.id not in before:
            continue
        finding = session.store.findings(session.target.key, bug=bug.id)[0]
        began = session.clock() + _hanging(finding.verdict.kind, options.runs + 1, options)
        if session.stopped() or (options.deadline is not None and began >= options.deadline):
            continue
        better = threads.submit(examiners.improve, finding, bug).result()
        if better is not None:
            session.store.improve_bug(bug.id, better)


def _groups(findings: Sequence[FindingRow]) -> list[list[FindingRow]]:
    """Findings that look alike before examination, simplest test case first."""
    groups: dict[str, list[FindingRow]] = defaultdict(list)
    for finding in findings:
        groups[signature(finding.api, finding.verdict, finding.outcome).text].append(finding)
    for group in groups.values():
        group.sort(key=lambda finding: (cost(finding.test), finding.id))
    return _in_turn(groups)


def _in_turn(groups: Mapping[str, list[FindingRow]]) -> list[list[FindingRow]]:
    """Exceptions, deaths and hangs have equal shares of the time, however long each of them takes.

    Of each kind, what fails in a way that no group before it did comes first.
    """
    alike: Counter[tuple[str, str]] = Counter()
    ranked: defaultdict[str, list[tuple[int, int, list[FindingRow]]]] = defaultdict(list)
    for text, group in sorted(groups.items(), key=lambda item: item[1][0].id):
        kind, fault = group[0].verdict.kind, text.partition(": ")[2]
        ranked[kind if kind_of(kind).expense > 1 else ""].append((alike[kind, fault], group[0].id, group))
        alike[kind, fault] += 1
    turns = [
        ((place + 1) * kind_of(kind).expense, number, group)
        for kind, those in ranked.items()
        for place, (_, number, group) in enumerate(sorted(those, key=lambda each: each[:2]))
    ]
    return [group for *_, group in sorted(turns, key=lambda each: each[:2])]


@contextmanager
def _plan(session: Session) -> Iterator[Path]:
    """A plan without invocations: examiners replay given test cases."""
    with scratch() as folder:
        path = folder / "plan.jsonl"
        make_plan(session, path, (), seed=0, oracles=tuple(ORACLES), mutating=False)
        yield path


class _Examiners:
    """One examiner with a zygote of its own per thread."""

    def __init__(self, session: Session, options: TriageOptions, plan: Path, groups: int) -> None:
        self.session = session
        self.waiting = groups
        self.lock = threading.Lock()
        self.options = options
        self.plan = plan
        self.examiners = PerThread(self._examiner)
        self.zygotes: list[Zygote] = []
        self.processes = Processes()

    def __call__(self, group: list[FindingRow]) -> Examination:
        mine = self.examiners.get()
        mine.bug_seconds = self._portion()
        return mine.examine(group[:TRIED_PER_GROUP])

    def improve(self, finding: FindingRow, bug: BugRow) -> NewBug | None:
        """See `Examiner`."""
        mine = self.examiners.get()
        mine.bug_seconds = self.options.bug_seconds
        return mine.improve(finding, bug)

    def _portion(self) -> float:
        """Seconds for minimising the next one: all that wait are to be confirmed before any is as small as can be."""
        with self.lock:
            waiting, self.waiting = self.waiting, self.waiting - 1
        if self.options.deadline is None:
            return self.options.bug_seconds
        left = (self.options.deadline - self.session.clock()) * self.session.workers
        return min(self.options.bug_seconds, MINIMISING_SHARE * left / max(waiting, 1))

    def _examiner(self) -> Examiner:
        target, options = self.session.target, self.options
        zygote = Zygote(target.python, target.library, "fuzz", self.plan, self.session.stopped)
        self.zygotes.append(zygote)
        limits = (options.timeout, options.runs, options.bug_seconds, options.deadline)
        return Examiner(self.session, zygote, self.processes, *limits)

    def close(self) -> None:
        """Ends all zygotes and scripts, and with them whatever still runs in a thread."""
        self.processes.end()
        for zygote in self.zygotes:
            zygote.close()


def _reserve(group: list[FindingRow], options: TriageOptions) -> float:
    """About what an examination takes, in seconds: begun later, it would outlast the time-box."""
    return RESERVE_SECONDS + _hanging(group[0].verdict.kind, options.runs + 1 + SLACK, options)


def _hanging(kind: str, looks: float, options: TriageOptions) -> float:
    """Seconds that scripts hang for, if they do, looked at so often."""
    return looks * options.timeout * HANG_FACTOR if kind == "hang" else 0.0


def _settle(
    session: Session, registry: Registry, group: list[FindingRow], found: Examination, report: TriageReport
) -> None:
    """The examined finding carries the bug; its look-alikes join it, or share its rejection."""
    if found.postponed:
        return
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
    if number is not None:
        _tell(session, registry, number, len(group), new, report)


def _tell(session: Session, registry: Registry, number: int, findings: int, new: bool, report: TriageReport) -> None:
    """What is new or has come back is reported, what is known is counted; of all builds' rows the first is the bug."""
    first = session.store.later_rows().get(number, number)
    back = new and first in review_standings(session.store)
    if consult(session.store, registry, number, findings, new and (first == number or back)):
        report.bugs.append(first)
        session.watch.note(f"bug {first}{' is back' * back}: {session.store.bug(first).signature_text}")
    elif session.store.bug(number).status == KNOWN:
        report.known += findings
