"""From pending findings to bugs: examiners in threads, and the controller's thread that settles what they say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median

from fuzz_core.campaign.cases import consult, review
from fuzz_core.campaign.examiner import HANG_SECONDS, Examination, Examiner, TriageOptions
from fuzz_core.campaign.history import review_standings
from fuzz_core.campaign.plans import make_replay_plan
from fuzz_core.campaign.reproduce import symptom
from fuzz_core.campaign.session import GRACE_SECONDS, Session
from fuzz_core.execution.forks import ROLES
from fuzz_core.execution.scratch import scratch
from fuzz_core.oracles.kinds import GRADES, kind_of
from fuzz_core.store.checks import KNOWN
from fuzz_core.store.records import BugRow, FindingRow
from fuzz_core.triage.cluster import BugPlace, Symptom, place_of, similar
from fuzz_core.triage.cost import cost
from fuzz_core.triage.known import Registry
from fuzz_core.triage.signature import signature
from nightfuzz.reports.contradiction import contradiction

WAIT_SECONDS = 0.2
# Findings on record are read again after so many seconds, as a fuzz goes on to find.
REFRESH_SECONDS = 2.0
HANG = "hang"
# If other groups wait, hangs have one examiner at most, and this share of the time.
HANG_SHARE = 0.1
# So many waiting groups are worth one more examiner beside a fuzz.
GROUPS_PER_EXAMINER = 3
# The first examinations wait for the import of the library, so they do not count for the pace. Hangs count apart.
PACE_AFTER = 5


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


@dataclass(frozen=True)
class Group:
    """Findings that look alike before examination, simplest test case first."""

    text: str  # signature of the findings
    findings: tuple[FindingRow, ...]

    @property
    def kind(self) -> str:
        """The kind of its verdicts."""
        return self.findings[0].verdict.kind

    @cached_property
    def place(self) -> BugPlace:
        """The place of the failure, by the outcome of the finding."""
        return place_of(symptom(self.findings[0]))

    @property
    def is_hang(self) -> bool:
        """Whether its examination takes seconds in which a call may hang."""
        return self.kind == HANG


class Desk:
    """The examinations of one session. `step` begins and settles them: the thread that calls it owns the store.

    Attributes:
        report: the examinations that have been settled so far.
    """

    def __init__(self, session: Session, options: TriageOptions) -> None:
        self.session = session
        self.options = options
        self.report = TriageReport(bugs=review(session.store, options.known))
        self._running: dict[Future[Examination | None], tuple[Group, float]] = {}
        self._waiting: list[Group] = []
        # Seconds before the deadline that belong to another phase, and not to the examinations.
        self.reserved = 0.0
        self._confirmed: dict[str, int] = {}
        self._began = session.clock()
        self._read = -REFRESH_SECONDS + self._began
        # Seconds of turns of hangs, and how many hangs they have settled.
        self._hanging, self._hangs = 0.0, 0
        # Seconds that each other examination has taken.
        self._took: list[float] = []
        with ExitStack() as opened:
            plan = opened.enter_context(scratch()) / "plan.jsonl"
            make_replay_plan(session, plan)
            self.threads = opened.enter_context(ThreadPoolExecutor(session.workers, "triage"))
            self.examiner = Examiner(session, options, plan)
            # Runs before the threads are waited for, and so ends the work that they still do.
            opened.callback(self.examiner.close)
            # The library is imported while the fuzz prepares, and not when the first finding waits for it.
            for role in ROLES:
                self.threads.submit(self.examiner.start, role)
            self.close = opened.pop_all().close

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def figures(self) -> dict[str, int]:
        """The figures that a screen shows beside a fuzz: confirmed bugs, waiting groups, examinations under way."""
        return {"bugs": len(self.report.bugs), "waiting": len(self._waiting), "examiners": self.running}

    @property
    def running(self) -> int:
        """How many examinations are under way."""
        return len(self._running)

    @property
    def is_full(self) -> bool:
        """Whether the groups that wait would fill the time until the deadline, at the pace so far."""
        deadline = self.options.deadline
        if deadline is None or len(self._took) < PACE_AFTER:
            return False
        hangs = sum(group.is_hang for group in self._waiting)
        rest = hangs * self._hang_pace + (len(self._waiting) - hangs) * median(self._took)
        return self.session.is_over(deadline, self.reserved + rest / self.session.workers)

    @property
    def _hang_pace(self) -> float:
        """Seconds that a hang takes with all its turns; a whole turn before one is settled."""
        return self._hanging / self._hangs if self._hangs else HANG_SECONDS

    def read(self) -> None:
        """Reads pending findings from the store."""
        store, target = self.session.store, self.session.target.key
        pending = groups(store.pending_findings(target), store.bugs(target))
        begun = {group.text for group, _ in self._running.values()}
        self._waiting = [group for group in pending if group.text not in begun]
        self._read = self.session.clock()

    def share(self, fuzzing: bool) -> int:
        """Counts the examiners that may work: all if no fuzz goes on, else as many as the queue needs."""
        workers = self.session.workers
        if not fuzzing:
            return workers
        if self.session.clock() - self._read >= REFRESH_SECONDS:
            self.read()
        wanted = -(-len(self._waiting) // GROUPS_PER_EXAMINER) + self.running
        return min(wanted, workers - 1)

    def step(self, fuzzing: bool = False) -> bool:
        """Settles what is done and begins what there are places for.

        Returns whether an examination is under way. Hangs wait for their share of the time while a fuzz goes on.
        """
        for future in [future for future in self._running if future.done()]:
            group, began = self._running.pop(future)
            took, found = self.session.clock() - began, future.result()
            if group.is_hang:
                self._hanging += took
                self._hangs += found is not None
            else:
                self._took.append(took)
            self._settle(group, found)
        while chosen := self._next(fuzzing, self.share(fuzzing) - self.running):
            for group in chosen:
                self._waiting.remove(group)
                if number := self._confirmed.get(group.text):
                    # A look-alike of a finding that was settled while the fuzz went on leaves its place to the next.
                    self._join(group, number)
                    continue
                self.examiner.waiting = len(self._waiting) + 1
                begun = self.threads.submit(self.examiner.examine, group.findings)
                self._running[begun] = group, self.session.clock()
        return bool(self._running)

    def _next(self, fuzzing: bool, places: int) -> list[Group]:
        """Returns the groups that begin now: none whose examination would outlast the deadline.

        A group that looks like a running one waits for it: only one of the two needs an interpreter.
        """
        chosen: list[Group] = []
        running = [group for group, _ in self._running.values()]
        hangs = sum(group.is_hang for group in running)
        for group in self._waiting:
            if len(chosen) >= places or self.session.is_over(
                self.options.deadline, self.examiner.reserve(group.findings)
            ):
                break
            if group.is_hang and not self._has_time_to_hang(fuzzing, hangs):
                continue
            if any(similar(group.place, other.place) for other in (*running, *chosen)):
                continue
            hangs += group.is_hang
            chosen.append(group)
        return chosen

    def _has_time_to_hang(self, fuzzing: bool, hangs: int) -> bool:
        spent = (self.session.clock() - self._began) * self.session.workers
        others = fuzzing or any(not group.is_hang for group in self._waiting)
        return not others or (not hangs and self._hanging <= HANG_SHARE * spent)

    def _settle(self, group: Group, found: Examination | None) -> None:
        if found is None:
            self._waiting.append(group)
            return
        number = _settle(self.session, self.options.known, group.findings, found, self.report)
        if number is not None:
            self._confirmed[group.text] = number
        if (bug := found.bug) is not None and bug.minimised:
            self.examiner.know(Symptom(self.session.target.key, *bug[:2], bug.kind, bug.outcome))

    def _join(self, group: Group, number: int) -> None:
        for finding in group.findings:
            self.session.store.settle_finding(finding.id, "duplicate", reason=f"like bug {number}", bug=number)
            self.report.settled["duplicate"] += 1

    def finish(self) -> None:
        """Examines until no group is left that there is time for."""
        self.read()
        before = self.report.settled.total()
        while self.step() and not self.session.is_over(self.options.deadline, -GRACE_SECONDS):
            report = self.report
            done = report.settled.total() - before
            self.session.watch.advance(done, bugs=len(report.bugs), **report.settled)
            wait(self._running, timeout=WAIT_SECONDS, return_when=FIRST_COMPLETED)


def examine(session: Session, options: TriageOptions, desk: Desk | None = None) -> TriageReport:
    """Settles pending findings; findings that the deadline leaves out stay pending.

    Args:
        desk: a desk that has examined findings beside a fuzz; the report includes the findings that it has settled.
    """
    before = {bug.id for bug in _unfinished(session)}
    pending = len(session.store.pending_findings(session.target.key))
    with ExitStack() as opened:
        if desk is None:
            if not pending and not before:
                return TriageReport(bugs=review(session.store, options.known))
            desk = opened.enter_context(Desk(session, options))
        session.watch.phase("confirming and minimising", pending)
        desk.finish()
        # Bugs of this run count too if a deadline has cut them short; otherwise they have had the most that one may
        # take.
        late = session.is_over(options.deadline)
        cut = [bug for bug in _unfinished(session) if not late and (options.deadline is not None or bug.id in before)]
        firsts = [session.store.findings(session.target.key, bug=bug.id)[0] for bug in cut]
        for bug, better in zip(cut, desk.threads.map(desk.examiner.improve, firsts, cut), strict=True):
            if better is not None:
                session.store.improve_bug(bug.id, better)
        report, desk.report = desk.report, TriageReport()
    report.left = len(session.store.pending_findings(session.target.key))
    return report


def _unfinished(session: Session) -> list[BugRow]:
    return [bug for bug in session.store.bugs(session.target.key) if not bug.minimised]


def groups(findings: Sequence[FindingRow], bugs: Sequence[BugRow] = ()) -> list[Group]:
    """Returns findings in groups that look alike before examination, see `in_turn`.

    Args:
        bugs: the bugs on record.
    """
    found: dict[str, list[FindingRow]] = defaultdict(list)
    for finding in findings:
        found[signature(finding.api, finding.verdict, finding.outcome).text].append(finding)
    made = (
        Group(text, tuple(sorted(rows, key=lambda finding: (cost(finding.test), finding.id))))
        for text, rows in found.items()
    )
    return in_turn(made, ((bug.kind, _fault(bug.signature_text)) for bug in bugs))


def in_turn(found: Iterable[Group], known: Iterable[tuple[str, str]] = ()) -> list[Group]:
    """Returns groups in an order that gives exceptions, deaths and hangs equal shares of the time.

    Within each kind, a group comes first if no group before it and no bug on record has its failure. Graver groups come
    before others.

    Args:
        known: kind and failure of the bugs on record.
    """
    alike = Counter(known)
    ranked: defaultdict[str, list[tuple[int, int, int, Group]]] = defaultdict(list)
    for group in sorted(found, key=lambda group: group.findings[0].id):
        first = group.findings[0]
        kind, fault = kind_of(first.verdict.kind), (first.verdict.kind, _fault(group.text))
        ranked[kind.name if kind.expense > 1 else ""].append((alike[fault], GRADES.index(kind.grade), first.id, group))
        alike[fault] += 1
    turns = [
        ((place + 1) * kind_of(group.findings[0].verdict.kind).expense, number, group)
        for those in ranked.values()
        for place, (_, _, number, group) in enumerate(sorted(those, key=lambda each: each[:3]))
    ]
    return [group for *_, group in sorted(turns, key=lambda each: each[:2])]


def _fault(text: str) -> str:
    """Returns the part of a signature behind the api."""
    return text.partition(": ")[2]


def _settle(
    session: Session, registry: Registry, group: Sequence[FindingRow], found: Examination, report: TriageReport
) -> int | None:
    """Settles a group: the bug is of the examined finding, and look-alikes get the same result. Returns the bug."""
    store = session.store
    chosen = found.finding
    number = store.settle_finding(
        chosen.id, found.status, reason=found.reason, hits=found.hits, runs=found.runs, bug=found.bug
    )
    known = store.findings(session.target.key, bug=number) if number is not None else []
    new = number is not None and len(known) == 1
    # A finding of a bug on record is a duplicate, even if its examination rejected it.
    report.settled[found.status if new or number is None else "duplicate"] += 1
    for other in group:
        if other.id != chosen.id:
            status = "duplicate" if number is not None else found.status
            store.settle_finding(other.id, status, reason=f"like finding {chosen.id}", bug=number)
            report.settled[status] += 1
    if number is None:
        return None
    # New and returned bugs are reported, known ones are counted. The bug's number is that of its first row among all
    # builds.
    first = store.later_rows().get(number, number)
    back = new and first in review_standings(store)
    if consult(store, registry, number, len(group), new and (first == number or back)):
        report.bugs.append(first)
        bug = store.bug(first)
        session.watch.note(f"bug {first}{' is back' * back}: {bug.api}: {contradiction(bug)}")
    elif store.bug(number).status == KNOWN:
        report.known += len(group)
    return number
