"""The hot loop, the state that a worker shares with its zygote, and its pipes.

A worker is a fork of a zygote that has imported the library and read the plan. The controller sends leases: an api, a
range of test numbers, and the time to stop. The worker makes each test case from the plan, the number and the corpus of
the api. It writes the number into the journal, and only then executes and judges the test. If the worker dies, the
controller reads the number and makes the same test again. The worker reports verdicts that are not clean, new outcome
classes and new operators, and only counts all further tests. It skips tests that it has executed before, and hands a
lease back when the api gives no new tests. After a test that has changed the library's global state, the worker ends.

If a library compiles while it runs, compiled code is used in many tests before more is compiled.
"""

from __future__ import annotations

import gc
import os
import resource
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

# Bound at import: a test may put other functions in the place of the modules'.
from json import dumps, loads
from os import _exit, write
from typing import Any, NamedTuple

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import Dialect
from fuzz_core.adapters.inventory import Listed
from fuzz_core.ir.codec import decode_test, encode_test
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.tree import argument_names, children, fuzz_type
from fuzz_core.ir.values import Invocation, Tensor, TestCase, Value
from fuzz_core.ir.wire import LeaseDone
from fuzz_core.oracles.crash import Crash
from fuzz_core.tracing.hooks import Hooks
from fuzz_core.worker.execution import Execution
from fuzz_core.worker.journal import Journal
from fuzz_core.worker.knowledge import RecordedCalls
from fuzz_core.worker.observers import Corpus, MemoryGrowth, Novelty, class_digest
from fuzz_core.worker.plan import Plan

# Tests of compiled kinds between two tests of new kinds, and the most tests of new kinds in a lease.
WARM_TESTS = 8
COLD_TESTS = 4
# After this many postponed tests in a row, a new kind is compiled: the api has no other tests left.
MAX_POSTPONED = 32
# A test in this many is executed once more under a watch for operators, which costs several times the test.
OPERATORS_PERIOD = 256
WATCHED_SECONDS = 0.05
# After this many tests in a row that were executed before, the slice is better spent on another api.
EXHAUSTED_AFTER = 20
# The collector's own steps cost a tenth of the time: nearly all objects that it visits stay.
COLLECTED_AFTER = (5000, 20, 50)
# A warm-up takes some memory; a leak reaches this growth again and again.
SUSPICIOUS_BYTES = 8 << 20


class World(NamedTuple):
    """Objects that the zygote has loaded and its children share."""

    adapter: Adapter
    dialect: Dialect
    listed: list[Listed]
    hooks: Hooks | None
    plan: Plan | None
    knowledge: RecordedCalls | None = None  # for a search


class Channel(NamedTuple):
    """A child's pipes and journal; lines are JSON."""

    incoming: int
    outgoing: int
    journal: Journal

    def write(self, line: str) -> None:
        """Send one line whole; a closed pipe ends the process, since the controller is gone.

        The message begins a new line, even if a library has written to the pipe before.
        """
        data = b"\n" + line.encode("utf-8", "replace")
        try:
            while data:
                data = data[write(self.outgoing, data) :]
        except OSError:
            _exit(0)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self.write(dumps(message) + "\n")

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield messages from the controller until it closes the pipe."""
        with os.fdopen(self.incoming, "rb", buffering=1 << 16, closefd=False) as file:
            for line in file:
                yield loads(line)


class Compiling:
    """A filter of tests by what they would compile: operator, dtypes and ranks, for which the types of arguments stand.

    Attributes:
        cold: how many tests of the lease needed a compilation.
    """

    def __init__(self) -> None:
        self.kinds: set[int] = set()
        self.seconds = _compiled()
        self.cold = self.postponed = 0
        self.warm = WARM_TESTS

    def postpones(self, test: TestCase) -> bool:
        """Return whether to leave a test out: its kind is new to this process, while further tests would be quick."""
        if hash(kind(test.invocation)) in self.kinds:
            return False
        early = self.warm < WARM_TESTS and self.postponed < MAX_POSTPONED
        postponed = early or self.cold >= COLD_TESTS
        self.postponed += postponed
        return postponed

    def executed(self, test: TestCase) -> bool:
        """Return whether the test that was executed last needed a compilation."""
        before, self.seconds = self.seconds, _compiled()
        self.kinds.add(hash(kind(test.invocation)))
        self.postponed = 0
        cold = self.seconds != before
        self.warm = 0 if cold else self.warm + 1
        self.cold += cold
        return cold


def kind(value: Value) -> object:
    """Return the type of a value: for a call, its api and types of arguments.

    Empty tensors have their own type.
    """
    if isinstance(value, Invocation):
        return value.api, *zip(argument_names(value, {}), map(kind, children(value)), strict=True)
    return fuzz_type(value), isinstance(value, Tensor) and value.size == 0


def _compiled() -> float:
    """Return the seconds of processor time that children of this process have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass
class LeaseCounts:
    """The state and the counts of one lease."""

    lease: int
    log: bool
    swept: bool = False  # whether the tests are cells of the sweep
    counts: Counter[str] = field(default_factory=Counter)
    longest: float = 0.0  # seconds of the longest test, compilations excluded
    spoilt: bool = False  # a test has changed the library's switches or lost its device
    repeated: int = 0  # tests in a row that were not executed: duplicates and postponed ones
    cold: int = 0  # tests that needed a compilation
    compiling: float = 0.0  # seconds of those tests

    def over(self, until: float | None) -> bool:
        """Return whether to hand the lease back before its last test.

        Args:
            until: monotonic time in seconds; None means that only the last test ends the lease.
        """
        if until is None:
            return False
        return self.repeated >= EXHAUSTED_AFTER or time.monotonic() >= until + self.compiling


class Worker:
    """The hot loop: make a test case, write its number into the journal, execute, judge, report only what is new."""

    def __init__(self, world: World, channel: Channel) -> None:
        assert world.plan is not None
        self.plan = world.plan
        self.channel = channel
        self.journal = channel.journal
        self.execution = Execution(
            world.adapter,
            world.dialect,
            self.plan.header.oracles,
            documentation=self.plan.documentation,
            devices=self.plan.header.devices,
        )
        self.execution.alive = self.journal.again
        # The sweep takes each class once, so that a backward pass that dies of one is not left to chance.
        self.swept = [Crash(swept=True)] if "crash" in self.plan.header.oracles else []
        self.adapter = world.adapter
        self.state = self.adapter.process_state()
        self.executed: set[int] = set()
        self.novelty = Novelty()
        self.corpus = Corpus()
        self.operators: set[str] = set()
        self.grew: Counter[str] = Counter()
        self.compiling = Compiling() if world.dialect.compiled else None
        gc.set_threshold(*COLLECTED_AFTER)

    def work(self, lease: dict[str, Any]) -> None:
        """Execute a lease: an api, a range of its tests, and the clock time at which to hand the remaining tests back.

        A lease with a clock time is handed back early if the api has no new tests to give.
        """
        api, until, log = lease["api"], lease["until"], lease["log"]
        # Outcome classes that tests of the api have shown in other processes, some with their test.
        self.novelty.tell(api, (shown for shown, _ in lease["news"]))
        for _, known in lease["news"]:
            if known is not None:
                self.corpus.add(decode_test(loads(known)))
        grown = self.corpus.of(api)
        skip = lease.get("skip")
        turn = LeaseCounts(lease["lease"], log, swept=skip is not None)
        skipped = frozenset(skip or ())
        rows = {test: row for test, *row in lease.get("rows", ())}
        index = lease["first"]
        began, inside = time.monotonic(), self.execution.inside()
        growth = MemoryGrowth()
        # A run without a time-box must not depend on earlier leases of this process: the last run may have had other
        # leases.
        executed = self.executed if until is not None else set[int]()
        sparing = self.compiling if until is not None else None
        if sparing is not None:
            sparing.cold = 0
        while index < lease["last"] and not turn.spoilt and not turn.over(until):
            if index in skipped:
                index += 1
                continue
            growth.before(index)
            test = self.plan.test(api, index, grown, rows)
            key = hash(test.invocation)
            postponed = sparing is not None and sparing.postpones(test)
            if postponed or (key in executed and not log):
                turn.counts["postponed" if postponed else "duplicate"] += 1
                turn.repeated += 1
            else:
                executed.add(key)
                self._one(turn, index, test)
                turn.repeated = 0
            index += 1
        if until is not None and not turn.spoilt and not turn.swept:
            more, block = growth.end(index)
            self._weigh(turn, api, more, (self.plan.test(api, each, grown) for each in block), block)
        done = LeaseDone(
            turn.lease,
            index,
            turn.counts,
            turn.cold,
            seconds=time.monotonic() - began,
            inside=self.execution.inside() - inside,
            longest=turn.longest,
            compiling=turn.compiling,
            retire=turn.spoilt,
        )
        self.channel.send(done._asdict())

    def _one(self, turn: LeaseCounts, index: int, test: TestCase) -> None:
        began = time.monotonic()
        self.journal.begin(turn.lease, index)
        outcome, verdicts = self.execution.judge(test, oracles=self.swept if turn.swept else None)
        news = self.novelty.of(test.invocation.api, outcome, self.execution.shown)
        turn.spoilt = self.is_spoilt()
        watched = (news or test.seed % OPERATORS_PERIOD == 0) and not turn.spoilt and not turn.swept
        operators = self._operators(test, outcome) if watched else []
        self.journal.end()
        turn.counts[outcome.kind] += 1
        if self.compiling is not None and self.compiling.executed(test):
            turn.cold += 1
            turn.compiling += time.monotonic() - began
        else:
            turn.longest = max(turn.longest, outcome.seconds)
        if turn.log:
            shown = class_digest(outcome, self.execution.shown)
            self.channel.send({"ran": index, "outcome": outcome, "shown": shown})
        if (news or operators) and (turn.swept or not turn.log):
            entry = {"shown": news, "kind": outcome.kind, "test": encode_test(test) if news else None}
            self.channel.send({**entry, "operators": operators})
        for verdict, evidence in verdicts:
            self._report(test, verdict, evidence)

    def _weigh(self, turn: LeaseCounts, api: str, more: int, tests: Iterable[TestCase], indices: Iterable[int]) -> None:
        """Look for a leak among the tests in which memory grew most, once an api's leases have made it grow enough."""
        self.grew[api] += more
        if self.grew[api] < SUSPICIOUS_BYTES or "leak" not in self.plan.header.oracles:
            return
        self.grew[api] = 0
        for index, test in zip(indices, tests, strict=True):
            found = self.execution.weigh(test, lambda index=index: self.journal.begin(turn.lease, index))  # type: ignore[misc]
            self.journal.end()
            for verdict, evidence in found:
                self._report(test, verdict, evidence)
            if found:
                return

    def _operators(self, test: TestCase, outcome: Outcome) -> list[str]:
        """Execute the test once more and return its operators that are new to this process."""
        if outcome.kind != "ok" or outcome.seconds > WATCHED_SECONDS:
            return []
        found: set[str] = set()
        with self.adapter.operators(found.add):
            self.execution.run(test, self.execution.modes[0])
        found -= self.operators
        self.operators |= found
        return sorted(found)

    def _report(self, test: TestCase, verdict: Verdict, outcome: Outcome) -> None:
        if not self.novelty.enough(test.invocation.api, verdict, outcome):
            self.channel.send({"test": encode_test(test), "verdict": verdict, "outcome": outcome})

    def replay(self, lease: dict[str, Any]) -> dict[str, Any]:
        """Execute a given test case, for minimising, and return its outcome and all its verdicts."""
        test = decode_test(lease["test"])
        outcome, verdicts = self.execution.judge(test, lease.get("redzone", False))
        if lease.get("weigh"):
            verdicts += self.execution.weigh(test, lambda: self.journal.begin(lease["lease"], 0))
        return {"outcome": outcome, "verdicts": verdicts, "spoilt": self.is_spoilt()}

    def is_spoilt(self) -> bool:
        """Return whether the library's switches have changed, or its device is lost."""
        return self.execution.poisoned or self.adapter.has_changed(self.state)
