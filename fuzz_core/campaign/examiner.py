"""Examination of one finding: replay, minimise, confirm by script, sign."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzz_core.adapters import quotes
from fuzz_core.adapters.dialect import LIBRARIES
from fuzz_core.campaign.bench import CRASH, HANG_FACTOR, HANG_IMPORT_SECONDS, PLAIN, STUCK_FACTOR, Bench, Benches
from fuzz_core.campaign.privacy import worst_suspicion
from fuzz_core.campaign.reproduce import Attempt, is_replayed, strategy
from fuzz_core.campaign.session import Session
from fuzz_core.ir.elements import is_vast
from fuzz_core.ir.errors import CodecError
from fuzz_core.ir.outcome import Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.modelgen.gandalf.scripts import is_of_shape
from fuzz_core.store.records import BugRow, FindingRow, NewBug
from fuzz_core.triage.cluster import BugPlaces
from fuzz_core.triage.effort import excuse
from fuzz_core.triage.known import Registry
from fuzz_core.triage.place import Symptom
from fuzz_core.triage.process import Confirmation
from fuzz_core.triage.reduce import minimise, slice_of
from fuzz_core.triage.signature import corrupts_heap, signature

TRIED_PER_GROUP = 3
RESERVE_SECONDS = 10.0
# Share of each group's time that goes to minimising its findings; the remaining time is for confirming.
MINIMISING_SHARE = 0.5
# Most seconds of minimising before the next finding has its turn. Bugs that were cut short are minimised further at the
# end.
QUICK_SECONDS = 8.0
# The most seconds for which a hang holds an examiner: then other findings come first.
HANG_SECONDS = 25.0
# Part of HANG_SECONDS for arguments that are smaller than those that hang.
SHRINKING_SECONDS = 6.0
# A smaller call hangs if it takes so many seconds, since the call that it comes from has hung for far longer. The
# smallest one is confirmed with the usual limit.
SMALLER_SECONDS = 1.0


@dataclass
class TriageOptions:
    """Options of an examination."""

    deadline: float | None = None  # clock time after which no new work begins
    bug_seconds: float = 60.0  # the most seconds for minimising one bug
    runs: int = 5  # fresh processes that confirm a bug
    timeout: float = 3.0
    known: Registry = field(default_factory=Registry)


class Paused(Exception):  # noqa: N818 - no error
    """A hang has had its turn, and needs another one."""


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

    Attributes:
        plan: for benches that replay.
        waiting: how many groups have not begun, this one among them.
        known: places of minimised bugs.
        hangs: what is known of hangs by the number of the finding: that it is none, its smallest test case, or None
            before that.
    """

    def __init__(self, session: Session, options: TriageOptions, plan: Path | None = None) -> None:
        self.session = session
        self.dialect = session.dialect
        self.options = options
        self.waiting = 1
        self.hangs: dict[int, Examination | tuple[TestCase, bool] | None] = {}
        # Seconds that hangs take with smaller numbers, by the number of the finding.
        self.timed: dict[int, dict[TestCase, float | None]] = {}
        bugs = session.store.bugs(session.target.key)
        self.known = BugPlaces(bug for bug in bugs if bug.minimised)
        self.benches = Benches(session, options.timeout, {session.target.key: plan})
        self.close = self.benches.close

    @property
    def bench(self) -> Bench:
        """Bench that belongs to the calling thread."""
        return self.benches.on(self.session.target)

    def start(self, role: str) -> None:
        """Start a zygote that all threads share, see `Zygotes.of`."""
        self.bench.shared.of(role)

    def know(self, bug: Symptom) -> None:
        """Remember a confirmed bug, unless it looked like one that was remembered and had no interpreter."""
        if not self.known.has(bug):
            self.known.add(bug)

    def examine(self, group: Sequence[FindingRow]) -> Examination | None:
        """Return the result of the first confirmed finding, or else of the finding that reproduced most often.

        The result is None if there is no time for any finding, or if a hang needs a further turn.
        """
        options, seconds = self.options, self.options.bug_seconds
        if options.deadline is not None:
            # Every waiting finding is to be confirmed before any finding is minimised to the end.
            left = (options.deadline - self.session.clock()) * self.session.workers
            seconds = min(seconds, QUICK_SECONDS, MINIMISING_SHARE * left / max(self.waiting, 1))
        timely = itertools.takewhile(lambda _: not self._over(), group[:TRIED_PER_GROUP])
        try:
            return _decisive(self._one(finding, seconds) for finding in timely)
        except Paused:
            return None

    def improve(self, finding: FindingRow, bug: BugRow) -> NewBug | None:
        """Minimise a bug further whose minimising was cut short; None if it gets no smaller or no time is left."""
        if self.session.is_over(self.options.deadline, self.reserve([finding])):
            return None
        start = finding._replace(api=bug.api, test=bug.test)
        found = self._one(start, self.options.bug_seconds, known=True).bug
        return found if found is not None and found.signature == bug.signature_text else None

    def reserve(self, group: Sequence[FindingRow]) -> float:
        """Return about how many seconds an examination takes: one that begins later would outlast the time-box."""
        return RESERVE_SECONDS + self.hanging(group[0])

    def hanging(self, finding: FindingRow) -> float:
        """Return the seconds that a turn of a finding may hang for."""
        stuck = self.options.timeout * STUCK_FACTOR + HANG_IMPORT_SECONDS
        return max(HANG_SECONDS, stuck) if finding.verdict.kind == "hang" else 0.0

    def _over(self) -> bool:
        return self.session.is_over(self.options.deadline)

    def _one(self, finding: FindingRow, seconds: float, known: bool = False) -> Examination:
        """Examine one finding.

        Args:
            seconds: the most seconds for minimising.
        """
        try:
            if finding.verdict.kind == "hang" and not known:
                return self._hang(finding, seconds)
            return self.confirm(finding, *self._minimised(finding, seconds))
        except CodecError as error:
            return Examination(finding, reason=f"cannot be written as a script: {error}")

    def _hang(self, finding: FindingRow, seconds: float) -> Examination:
        """Examine a hang in turns of about HANG_SECONDS: whether it is one, how small it can be, whether it is stable.

        Raises:
            Paused: after each turn but the last.
        """
        if is_vast(finding.test):
            return Examination(finding, reason="an expanded tensor has more places than memory holds", runs=1)
        if finding.id not in self.hangs:
            why = self._excuse(finding)
            self.hangs[finding.id] = Examination(finding, reason=why, runs=1) if why else None
            raise Paused
        known = self.hangs[finding.id]
        if known is None:
            self.hangs[finding.id] = self._minimised(finding, min(seconds, HANG_SECONDS - self.options.timeout))
            raise Paused
        return known if isinstance(known, Examination) else self.confirm(finding, *known)

    def confirm(self, finding: FindingRow, small: TestCase, smallest: bool = False) -> Examination:
        """Confirm in fresh processes a finding that was minimised to `small`.

        Args:
            smallest: whether the test case was minimised to the end.
        """
        way = strategy(self.bench, finding.verdict, self.known)
        attempts = list(way.attempts(finding, small))
        replayed = is_replayed(finding.verdict, self.dialect)
        # Forks are quick. If no attempt shows itself in a fork, each has an interpreter, the seeded one for both. Other
        # modes than the one that a worker died in have one if the fault may have been long before the death.
        own = finding.verdict.mode
        modes = None if corrupts_heap(finding.outcome) else (PLAIN, own, self.dialect.way_of(own))
        likely = [each for each in attempts if modes is None or each.finding.verdict.mode in modes]
        seeded = [each for each in likely if each.seeded or each._replace(seeded=True) not in likely]
        slow: list[Attempt] = []

        def tried() -> Iterator[Examination]:
            for alone in (False,) if replayed else (False, True):
                for attempt in (each for each in (seeded if alone else attempts) if each not in slow):
                    seen, verdict = way.confirm(attempt, self.options.runs, alone)
                    if seen.outcome.kind == "timeout" and not seen.hits:
                        # An interpreter would take as long, and show as little.
                        slow.append(attempt)
                    yield self._decided(attempt, seen, verdict, smallest and attempt.test == small)
                    if seen.outcome.kind == "oom":
                        # Each further attempt needs as much memory, and to fill it takes long.
                        return

        found = _decisive(tried())
        assert found is not None
        return found

    def _excuse(self, finding: FindingRow) -> str:
        """Return why a time-out is no hang: most are long work, so one execution gets five times the limit first."""
        usual, end = self.options.timeout * HANG_FACTOR, self.session.clock() + SHRINKING_SECONDS
        before = self.timed.get(finding.id)
        timed = self.timed.setdefault(finding.id, {})

        def seconds(test: TestCase) -> float | None:
            if test not in timed and self.session.clock() < end:
                told = self.bench.replayer.tell(test).get(PLAIN, ())
                well = told and told[0].outcome.kind in ("ok", "exception")
                timed[test] = told[0].outcome.seconds if well else None
            return timed.get(test)

        def hangs(limit: float) -> bool:
            if limit > usual and before is None:
                # The longer look has a turn of its own.
                raise Paused
            # A script that dies fails, too.
            script = Attempt(finding, finding.test, True).script(self.dialect)
            return not CRASH.judge({PLAIN: self.bench.fork(script, "hang", seconds=limit)}, self.dialect).clean

        return excuse(finding.test, seconds, hangs, usual)

    def _minimised(self, finding: FindingRow, seconds: float) -> tuple[TestCase, bool]:
        """Return the smallest test case with the finding's signature, and whether it is; else the original."""
        first = self.bench.evidence(finding.test, finding)
        if first is None:
            return finding.test, False
        if finding.test.program and finding.verdict.mode == quotes.MODE:
            # The last statement fails in any case: with fewer statements the failure would not be the library's.
            return finding.test, True
        end, late = self.session.clock() + seconds, False
        if (deadline := self.options.deadline) is not None:
            # Time is kept so that a found bug can be confirmed before the deadline.
            end = min(end, deadline - max(self.options.runs, self.hanging(finding)))
        limit = min(SMALLER_SECONDS, self.options.timeout) if finding.verdict.kind == "hang" else None
        stated, program = finding.verdict.mode == LIBRARIES, finding.test.program
        depends = () if not stated or is_of_shape(program) else slice_of(program)

        def over() -> bool:
            nonlocal late
            late = late or self.session.clock() >= end or self._over()
            return late

        def reproduces(test: TestCase) -> bool:
            # The program contains the reference for its comparison, so a program that computes another value is no
            # evidence.
            if depends and slice_of(test.program) != depends:
                return False
            seen = self.bench.evidence(test, finding, seconds=limit)
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
        return Examination(finding, "confirmed", self._means(seen), seen.hits, seen.runs, bug)

    def _means(self, seen: Confirmation) -> str:
        """Say which runs were which."""
        interpreters = f"{seen.runs - seen.forks} by a fresh interpreter"
        return f"{interpreters}, {seen.forks} in forks of a process that had only imported {self.dialect.library}"


def _decisive(examinations: Iterable[Examination]) -> Examination | None:
    """Return the first confirmed examination, and ask for no more; else the one with most hits; None out of none."""
    best: Examination | None = None
    for found in examinations:
        if found.status == "confirmed":
            return found
        if best is None or found.hits > best.hits:
            best = found
    return best
