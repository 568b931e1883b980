"""From pending findings to bugs: examiners in threads, and the controller's thread that settles what they say."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from fuzz_core.campaign.cases import review_known, should_report
from fuzz_core.campaign.examiner import HANG_SECONDS, Examination, Examiner, TriageOptions
from fuzz_core.campaign.finding_groups import HANG, HANG_RESERVE, FindingGroup, group_findings
from fuzz_core.campaign.history import review_statuses
from fuzz_core.campaign.plans import make_replay_plan
from fuzz_core.campaign.session import GRACE_SECONDS, Session
from fuzz_core.campaign.watch import Work
from fuzz_core.execution.forks import ROLES
from fuzz_core.execution.scratch import scratch
from fuzz_core.store.checks import KNOWN
from fuzz_core.store.records import BugRow, FindingRow, NewBug
from fuzz_core.triage.cluster import similar
from fuzz_core.triage.known import Registry
from fuzz_core.triage.place import Symptom
from nightfuzz.reports.contradiction import contradiction

WAIT_SECONDS = 0.2
# Findings on record are read again after so many seconds, as a fuzz goes on to find.
REFRESH_SECONDS = 2.0
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
    hangs: int = 0  # how many of those that wait are hangs

    def add(self, later: TriageReport) -> None:
        """Count a later examination; what waits now is what that one left."""
        self.settled += later.settled
        self.bugs += [bug for bug in later.bugs if bug not in self.bugs]
        self.known += later.known
        self.left, self.hangs = later.left, later.hangs


class ExaminationQueue:
    """The examinations of one session.

    `step` begins and settles them: the thread that calls it owns the store.

    Attributes:
        report: the examinations that have been settled so far.
    """

    def __init__(self, session: Session, options: TriageOptions) -> None:
        self.session = session
        self.options = options
        self.report = TriageReport(bugs=review_known(session.store, options.known))
        self._running: dict[Future[Examination | None], tuple[FindingGroup, float]] = {}
        self._waiting: list[FindingGroup] = []
        # Seconds before the deadline that belong to another phase, and not to the examinations.
        self.reserved = 0.0
        # Whether a round of fuzzing may follow that needs the time more than hangs do.
        self.goes_on = False
        self._confirmed: dict[str, int] = {}
        self._began = session.clock()
        self._read = -REFRESH_SECONDS + self._began
        # Seconds of turns of hangs, and how many hangs they have settled.
        self._hanging, self._hangs = 0.0, 0
        # Seconds that each other examination has taken.
        self._took: list[float] = []
        # Seconds of examiners that are not on record yet.
        self.spent = 0.0
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

    def __enter__(self) -> ExaminationQueue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def figures(self) -> dict[str, int]:
        """The figures that a screen shows beside a fuzz: confirmed bugs, waiting groups, examinations under way."""
        return {"bugs": len(self.report.bugs), "waiting": len(self._waiting), "examiners": self.running}

    @property
    def work(self) -> list[Work]:
        """The work of the examiners at this moment."""
        return [Work(f"examines {group.findings[0].api}", began) for group, began in self._running.values()]

    @property
    def running(self) -> int:
        """How many examinations are under way."""
        return len(self._running)

    @property
    def spare(self) -> float:
        """Seconds until the groups that wait fill the time, and until the pace is known; infinite before any pace."""
        if self.options.deadline is None or not self._took:
            return math.inf
        hangs, usual = sum(group.is_hang for group in self._waiting), median(self._took)
        rest = min(hangs * self._hang_pace, self._kept_for_hangs) + (len(self._waiting) - hangs) * usual
        left = self.options.deadline - self.session.clock() - self.reserved - rest / self.session.workers
        return max(left, (PACE_AFTER - len(self._took)) * usual)

    @property
    def is_full(self) -> bool:
        """Whether the groups that wait fill the time until the deadline, and the pace is known."""
        return len(self._took) >= PACE_AFTER and self.spare <= 0.0

    @property
    def _hang_pace(self) -> float:
        """Seconds that a hang takes with all its turns; a whole turn before one is settled."""
        return self._hanging / self._hangs if self._hangs else HANG_SECONDS

    @property
    def _kept_for_hangs(self) -> float:
        """Seconds of examiners that hangs may still take before a further round of fuzzing."""
        if self.options.deadline is None:
            return math.inf
        whole = (self.options.deadline - self._began) * self.session.workers
        return max(HANG_RESERVE * whole - self._hanging, 0.0)

    def read(self) -> None:
        """Read pending findings from the store."""
        store, target = self.session.store, self.session.target.key
        pending = group_findings(store.pending_findings(target), store.bugs(target))
        begun = {group.text for group, _ in self._running.values()}
        self._waiting = [group for group in pending if group.text not in begun]
        self._read = self.session.clock()

    def share(self, fuzzing: bool) -> int:
        """Count the examiners that may work: all if no fuzz goes on, else as many as the queue needs."""
        workers = self.session.workers
        if not fuzzing:
            return workers
        if self.session.clock() - self._read >= REFRESH_SECONDS:
            self.read()
        wanted = -(-len(self._waiting) // GROUPS_PER_EXAMINER) + self.running
        return min(wanted, workers - 1)

    def step(self, fuzzing: bool = False) -> bool:
        """Settle what is done and begin what there are places for.

        Returns:
            Whether an examination is under way.
        """
        for future in [future for future in self._running if future.done()]:
            group, began = self._running.pop(future)
            took, found = self.session.clock() - began, future.result()
            self.spent += took
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

    def _next(self, fuzzing: bool, places: int) -> list[FindingGroup]:
        """Return the groups that begin now: none whose examination would outlast the deadline.

        A group that looks like a running one waits for it: only one of the two needs an interpreter.
        """
        chosen: list[FindingGroup] = []
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
        if others:
            return not hangs and self._hanging <= HANG_SHARE * spent
        return not self.goes_on or self._kept_for_hangs > 0.0

    def _settle(self, group: FindingGroup, found: Examination | None) -> None:
        if found is None:
            self._waiting.append(group)
            return
        number = _settle(self.session, self.options.known, group.findings, found, self.report)
        if number is not None:
            self._confirmed[group.text] = number
        if (bug := found.bug) is not None and bug.minimised:
            self.examiner.know(Symptom(self.session.target.key, *bug[:2], bug.kind, bug.outcome))

    def _join(self, group: FindingGroup, number: int) -> None:
        for finding in group.findings:
            self.session.store.settle_finding(finding.id, "duplicate", reason=f"like bug {number}", bug=number)
            self.report.settled["duplicate"] += 1

    def finish(self) -> None:
        """Examine until no group is left that there is time for."""
        self.read()
        before = self.report.settled.total()
        while self.step() and not self.session.is_over(self.options.deadline, -GRACE_SECONDS):
            report = self.report
            done = report.settled.total() - before
            self.session.watch.work(self.work)
            self.session.watch.advance(done, bugs=len(report.bugs), **report.settled)
            wait(self._running, timeout=WAIT_SECONDS, return_when=FIRST_COMPLETED)

    def improve(self, finding: FindingRow, bug: BugRow) -> tuple[NewBug | None, float]:
        """Return the result of `Examiner.improve`, and the seconds that it took."""
        began = self.session.clock()
        return self.examiner.improve(finding, bug), self.session.clock() - began


def examine(
    session: Session, options: TriageOptions, queue: ExaminationQueue | None = None, further: bool = True
) -> TriageReport:
    """Settle pending findings; findings that the deadline leaves out stay pending.

    Args:
        queue: a queue that has examined findings beside a fuzz; the report includes the findings that it has settled.
        further: whether this is the last examination: bugs whose minimising was cut short are minimised further, and
            hangs have all the time that is left.
    """
    before = {bug.id for bug in _unfinished(session)}
    pending = len(session.store.pending_findings(session.target.key))
    with ExitStack() as opened:
        if queue is None:
            if not pending and not (before and further):
                return TriageReport(bugs=review_known(session.store, options.known))
            queue = opened.enter_context(ExaminationQueue(session, options))
        if pending or queue.running:
            session.watch.phase("confirming and minimising", pending, session.left(options.deadline))
        queue.goes_on = not further
        queue.finish()
        if further:
            _minimise_further(session, options, queue, before)
        report, queue.report = queue.report, TriageReport()
        session.store.add_examining(session.target.key, queue.spent)
        queue.spent = 0.0
    waiting = session.store.pending_findings(session.target.key)
    report.left = len(waiting)
    report.hangs = sum(finding.verdict.kind == HANG for finding in waiting)
    return report


def _minimise_further(
    session: Session, options: TriageOptions, queue: ExaminationQueue, before: Collection[int]
) -> None:
    """Minimise bugs whose minimising was cut short.

    Args:
        before: the bugs that were there before this examination.
    """
    # Bugs of this run count too if a deadline has cut them short; otherwise they have had the most that one may take.
    late = session.is_over(options.deadline)
    cut = [bug for bug in _unfinished(session) if not late and (options.deadline is not None or bug.id in before)]
    if not cut:
        return
    session.watch.phase("minimising further", len(cut), session.left(options.deadline))
    firsts = [session.store.findings(session.target.key, bug=bug.id)[0] for bug in cut]
    better = queue.threads.map(queue.improve, firsts, cut)
    for done, (bug, (smaller, took)) in enumerate(zip(cut, better, strict=True), 1):
        queue.spent += took
        if smaller is not None:
            session.store.improve_bug(bug.id, smaller)
        session.watch.advance(done, bug=bug.id)


def _unfinished(session: Session) -> list[BugRow]:
    return [bug for bug in session.store.bugs(session.target.key) if not bug.minimised]


def _settle(
    session: Session, registry: Registry, group: Sequence[FindingRow], found: Examination, report: TriageReport
) -> int | None:
    """Settle a group: the bug is of the examined finding, and look-alikes get the same result.

    Returns:
        The bug.
    """
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
    back = new and first in review_statuses(store)
    if should_report(store, registry, number, len(group), new and (first == number or back)):
        report.bugs.append(first)
        bug = store.bug(first)
        session.watch.note(f"bug {first}{' is back' * back}: {bug.api}: {contradiction(bug)}")
    elif store.bug(number).status == KNOWN:
        report.known += len(group)
    return number
