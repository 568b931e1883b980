"""What differs between two builds on one test case: told from noise, made small, and confirmed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from fuzz_core.campaign.pair import Pair
from fuzz_core.campaign.parallel import PerThread
from fuzz_core.campaign.session import MEMORY_BYTES, Session
from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.errors import BuildError, CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.store.changes import Change
from fuzz_core.store.records import TargetRecord
from fuzz_core.triage.confirm import printed
from fuzz_core.triage.difference import same_text
from fuzz_core.triage.process import Processes
from fuzz_core.triage.reduce import minimise
from fuzz_core.triage.script import render_printing
from fuzz_core.triage.signature import signature

IMPORT_SECONDS = 30.0
# Changes of one api that are examined; what it does otherwise besides has most likely the same cause.
MOST_PER_API = 3
# Of the time for a comparison; what is found in the rest is minimised and confirmed in it.
CONFIRM_SHARE = 0.1


@dataclass
class CompareOptions:
    """deadline: clock time by which all ends. seconds: for minimising one change. runs: fresh processes.

    seed: of the stream of test cases. patterns: of apis, where not all are meant. first: apis that have their turn
    before all others. most: tests in all. calls: numbers of the invocations that are meant, each of which comes before
    all mutants; None for all there are.
    """

    deadline: float | None = None
    seconds: float = 20.0
    runs: int = 5
    timeout: float = 3.0
    seed: int = 0
    disabled: Sequence[str] = ()
    patterns: Sequence[str] = ()
    first: Sequence[str] = ()
    most: int | None = None
    calls: Collection[int] | None = None


class Sides:
    """A pair of zygotes for each thread."""

    def __init__(
        self, session: Session, baseline: TargetRecord, plan: Path, options: CompareOptions, stack: ExitStack
    ) -> None:
        self.session = session
        self.baseline = baseline
        self.plan = plan
        self.options = options
        self.stack = stack
        self.examinations = PerThread(self._examination)
        self.processes = Processes()
        self.known: set[str] = set()
        self.per_api: Counter[str] = Counter()
        self.began = session.clock()

    def mine(self) -> Examination:
        """The examination of this thread."""
        return self.examinations.get()

    def _examination(self) -> Examination:
        pair = Pair(self._replayer(self.baseline), self._replayer(self.session.target), self.session.dialect)
        return Examination(self, pair)

    def _replayer(self, target: TargetRecord) -> Replayer:
        zygote = Zygote(target.python, target.library, "fuzz", self.plan, self.session.stopped)
        self.stack.callback(zygote.close)
        return Replayer(zygote, self.options.timeout, MEMORY_BYTES)

    def close(self) -> None:
        """Ends all scripts."""
        self.processes.end()

    def over(self) -> bool:
        """Whether nothing new begins: some time is kept for confirming what has been found."""
        kept = CONFIRM_SHARE * ((self.options.deadline or self.began) - self.began)
        return self.ended(kept)

    def ended(self, kept: float = 0.0) -> bool:
        """Whether there is no time left, or no more than these seconds."""
        return self.session.stopped() or self.left() <= kept

    def left(self) -> float:
        """Seconds until the deadline."""
        return inf if self.options.deadline is None else self.options.deadline - self.session.clock()


@dataclass
class Turn:
    """What a turn of an api has come to."""

    tests: int = 0
    changes: list[Change] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


class Examination:
    """One thread's work."""

    def __init__(self, sides: Sides, pair: Pair) -> None:
        self.sides = sides
        self.pair = pair

    def turn(self, tests: Iterator[TestCase]) -> Turn:
        """Executes test cases, and examines what differs in a way not seen before."""
        done = Turn()
        for test in tests:
            if self.sides.over():
                break
            verdict, after = self.pair.judge(test)
            done.tests += 1
            if after.kind == "ok" and after.name and verdict.clean:
                done.dropped[after.name] += 1
            if not verdict.clean and self._is_new(test, verdict, after):
                self._examine(test, verdict, after, done)
        return done

    def _is_new(self, test: TestCase, verdict: Verdict, after: Outcome) -> bool:
        api, text = test.invocation.api, signature(test.invocation.api, verdict, after).text
        if text in self.sides.known or self.sides.per_api[api] >= MOST_PER_API:
            return False
        self.sides.known.add(text)
        self.sides.per_api[api] += 1
        return True

    def _examine(self, test: TestCase, verdict: Verdict, after: Outcome, done: Turn) -> None:
        wanted = signature(test.invocation.api, verdict, after).text
        session, options = self.sides.session, self.sides.options
        end = session.clock() + options.seconds
        # Cheap beside minimising, and most of what a busy machine or an earlier test has done ends here.
        if not self._again(test, wanted):
            done.dropped[self._late() or "not confirmed"] += 1
            return

        def shows(candidate: TestCase) -> bool:
            found, seen = self.pair.judge(candidate)
            return not found.clean and signature(candidate.invocation.api, found, seen).text == wanted

        small = minimise(test, shows, lambda: session.clock() >= end or self.sides.over())
        found = self._confirmed(small, verdict, after, wanted)
        if isinstance(found, str) and not self.sides.ended():
            found = self._confirmed(test, verdict, after, wanted)
        if isinstance(found, str):
            done.dropped[found] += 1
        else:
            done.changes.append(found)

    def _late(self) -> str:
        return "not confirmed in time" if self.sides.ended() else ""

    def _confirmed(self, test: TestCase, verdict: Verdict, seen: Outcome, wanted: str) -> Change | str:
        """By the same verdict in workers that have run nothing else, and a script of its own; else why it is none."""
        options, sides = self.sides.options, self.sides
        try:
            script = render_printing(test, sides.session.dialect)
        except (CodecError, BuildError):
            return "not confirmed"
        if not all(self._again(test, wanted) for _ in range(options.runs)):
            return self._late() or "not confirmed"
        before, after = (self._printed(target, script) for target in (sides.baseline, sides.session.target))
        if sides.ended():
            return self._late()
        if before is None or after is None:
            return "random"
        if not self._is_shown(before, after, seen):
            return "not confirmed"
        api = test.invocation.api
        return Change(api, verdict.kind, wanted, test, script, before, after, options.runs, options.runs)

    def _is_shown(self, before: Outcome, after: Outcome, seen: Outcome) -> bool:
        """Whether scripts do otherwise too: where workers were short of memory, say, they do not."""
        if before.kind == after.kind == "ok":
            # What both return need not look different in print: a type, the time that it took.
            return seen.kind == "ok" and bool(seen.text)
        return not self.pair.verdict(before, after).clean

    def _again(self, test: TestCase, wanted: str) -> bool:
        if self.sides.ended():
            return False
        found, seen = self.pair.judge(test, fresh=True)
        return not found.clean and signature(test.invocation.api, found, seen).text == wanted

    def _printed(self, target: TargetRecord, script: str) -> Outcome | None:
        """What the script does in processes of its own; the text of a good end is what it prints.

        None where they do not agree: workers are forks of one process, and find the same garbage in their memory.
        """
        options, dialect = self.sides.options, self.sides.session.dialect
        # A moment for one that the deadline cuts short: what it says does not count.
        seconds = min(options.timeout * 5 + IMPORT_SECONDS, max(self.sides.left(), 1.0))
        first, again = (printed(target.python, script, dialect, seconds, self.sides.processes) for _ in range(2))
        alike = first.kind != "ok" or same_text(first.text, again.text)
        return first if alike and first[:2] == again[:2] else None
