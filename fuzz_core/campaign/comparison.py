"""Comparison of a target with its baseline: differences on ordinary test cases.

Differences are minimised and confirmed, and noise is left out.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path

from fuzz_core.campaign.bench import HANG_FACTOR, IMPORT_SECONDS, Benches
from fuzz_core.campaign.pair import Pair
from fuzz_core.campaign.plans import chosen, make_plan
from fuzz_core.campaign.session import Session, run_parallel
from fuzz_core.execution.scratch import scratch
from fuzz_core.ir.errors import BuildError, CodecError, UserError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.rng import derive
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.kinds import CHANGES
from fuzz_core.store.checks import Change
from fuzz_core.store.records import TargetRecord
from fuzz_core.triage.difference import same_text
from fuzz_core.triage.process import printed
from fuzz_core.triage.reduce import minimise
from fuzz_core.triage.script import render_printing
from fuzz_core.triage.signature import normalised, signature
from fuzz_core.worker.plan import Plan

# The number of tests of an api in each round.
TURN = 8
# Changes of one api that are examined; what it does otherwise besides has most likely the same cause.
MOST_PER_API = 3
# Share of the time for a comparison in which no new search begins; findings are minimised and confirmed in it.
CONFIRM_SHARE = 0.1


@dataclass
class CompareOptions:
    """Options of a comparison."""

    deadline: float | None = None  # clock time by which the comparison ends
    seconds: float = 20.0  # the most seconds for minimising one change
    runs: int = 5  # fresh processes for confirming a change
    timeout: float = 3.0
    seed: int = 0  # seed of the stream of test cases
    disabled: Sequence[str] = ()
    patterns: Sequence[str] = ()  # patterns of apis; empty for all apis
    first: Sequence[str] = ()  # apis that have their turn before all others
    most: int | None = None  # the most tests in all
    # Numbers of the invocations to compare, which come before all mutants; None for all.
    calls: Collection[int] | None = None


@dataclass
class CompareReport:
    """Figures of a comparison."""

    tests: int = 0  # tests that both builds have executed
    plain: int = 0  # tests that are calls as traced, without a mutation
    apis: int = 0
    changes: list[Change] = field(default_factory=list)  # changes on record now
    dropped: Counter[str] = field(default_factory=Counter)  # differences that were seen and not confirmed, by reason


def compare(session: Session, baseline: TargetRecord, traced: TargetRecord, options: CompareOptions) -> CompareReport:
    """Execute test cases from the valid invocations of the build `traced` on both builds, and record differences.

    Raises:
        UserError: the two builds are not of one library.
    """
    if baseline.library != session.target.library:
        library = session.target.library
        raise UserError(
            f"the baseline {baseline.key} is a build of {baseline.library}, but the target is a build of {library}",
            f"name a build of {library} with --baseline",
        )
    report = CompareReport()
    rows = chosen(replace(session, target=traced), options.patterns)
    if options.calls is not None:
        rows = [row for row in rows if row.id in options.calls]
    with ExitStack() as stack:
        path = stack.enter_context(scratch()) / "plan.jsonl"
        threads = stack.enter_context(ThreadPoolExecutor(session.workers, "compare"))
        make_plan(replace(session, target=traced), path, rows, seed=options.seed, disabled=options.disabled)
        seconds = 0.0 if options.deadline is None else max(options.deadline - session.clock(), 0.0)
        session.watch.phase(f"comparing with {baseline.key}", seconds)
        comparison = stack.enter_context(closing(_Comparison(session, baseline, path, options)))
        report.apis = len(comparison.plan.places)
        turns = _turns(comparison.plan, options)
        more = takewhile(lambda _: options.most is None or report.tests < options.most, turns)
        work, reserve = comparison.turn, comparison.reserve
        for _, done in run_parallel(session, threads, more, work, options.deadline, lambda _: reserve):
            report.tests += done.tests
            report.plain += done.plain
            report.dropped.update(done.dropped)
            for change in done.changes:
                session.store.save_change(session.target.key, baseline.key, change)
                session.watch.note(f"{change.kind}: {change.signature}")
            report.changes += done.changes
            spent = session.clock() - comparison.began
            session.watch.advance(spent, tests=report.tests, changes=len(report.changes))
    return report


def _turns(plan: Plan, options: CompareOptions) -> Iterator[tuple[str, range]]:
    """Yield (api, range of tests) in rounds: each api in turn, in an order drawn from the seed; some come first."""
    early = set(options.first)
    apis = sorted(plan.places, key=lambda api: (api not in early, derive(options.seed, api)))
    done = dict.fromkeys(apis, 0)
    if options.calls is not None:
        for api in apis:
            done[api] = plan.count(api)
            yield api, range(done[api])
    while apis:
        for api in apis:
            done[api] += TURN
            yield api, range(done[api] - TURN, done[api])


def worst_first(changes: Sequence[Change]) -> list[Change]:
    """Return regressions first; in each kind, changes of traced calls first, and calls that both builds refuse last."""

    def badness(change: Change) -> tuple[int, bool, int, str, str]:
        refused = (change.before.kind != "ok") + (change.after.kind != "ok")
        return CHANGES.index(change.kind), bool(change.test.rules), refused, change.api, change.signature

    return sorted(changes, key=badness)


def by_cause(changes: Sequence[Change]) -> Mapping[str, list[Change]]:
    """Return changes by the part of their signatures after the api: one message under many apis is one cause.

    For calls that the target refuses, only its whole own message counts: one new check stands before many old ones.
    """
    found: dict[str, list[Change]] = {}
    for change in changes:
        said = change.signature.partition(": ")[2]
        after = change.after
        cause = f"{after.name}: {normalised(after.text)}" if after.kind == "exception" else said
        found.setdefault(f"{change.kind} {cause}", []).append(change)
    return found


class _Comparison:
    """A comparison under way, in any thread."""

    def __init__(self, session: Session, baseline: TargetRecord, path: Path, options: CompareOptions) -> None:
        self.session = session
        self.baseline = baseline
        self.plan = Plan(path)
        self.options = options
        self.benches = Benches(session, options.timeout, {target.key: path for target in (baseline, session.target)})
        self.close = self.benches.close
        self.lock = threading.Lock()
        self.known: set[str] = set()
        self.per_api: Counter[str] = Counter()
        self.began = session.clock()
        self.reserve = 0.0 if options.deadline is None else CONFIRM_SHARE * (options.deadline - self.began)

    @property
    def pair(self) -> Pair:
        """The two builds, for the thread that asks."""
        return Pair(self.benches.on(self.baseline), self.benches.on(self.session.target))

    def is_over(self) -> bool:
        """Return whether there is no time left."""
        return self.session.is_over(self.options.deadline)

    def is_late(self) -> bool:
        """Return whether no new work may begin: some time is kept for confirming the changes that have been found."""
        return self.session.is_over(self.options.deadline, self.reserve)

    def turn(self, part: tuple[str, range]) -> CompareReport:
        """Execute these test cases of an api, and examine what differs in a way not seen before."""
        api, indices = part
        with self.lock:
            tests = [self.plan.test(api, index) for index in indices]
        done = CompareReport()
        for test in tests:
            if self.is_late():
                break
            verdict, after, text = self._look(test)
            done.tests += 1
            done.plain += not test.rules
            if not text and after.kind == "ok" and after.name:
                done.dropped[after.name] += 1
            api = test.invocation.api
            if text and text not in self.known and self.per_api[api] < MOST_PER_API:
                self.known.add(text)
                self.per_api[api] += 1
                found = self._examine(test, verdict, after, text)
                if isinstance(found, str):
                    done.dropped[found] += 1
                else:
                    done.changes.append(found)
        return done

    def _look(self, test: TestCase, fresh: bool = False) -> tuple[Verdict, Outcome, str]:
        """Return the pair's verdict on a test case, its outcome, and the signature of a verdict that is not clean."""
        verdict, seen = self.pair.judge(test, fresh)
        return verdict, seen, "" if verdict.clean else signature(test.invocation.api, verdict, seen).text

    def _examine(self, test: TestCase, verdict: Verdict, after: Outcome, wanted: str) -> Change | str:
        """Return the change, minimised and confirmed; else the reason why it is no change."""
        end = self.session.clock() + self.options.seconds
        # Cheap beside minimising, and most of what a busy machine or an earlier test has done ends here.
        if not self._again(test, wanted):
            return self._unconfirmed()

        def shows(candidate: TestCase) -> bool:
            return self._look(candidate)[2] == wanted

        small = minimise(test, shows, lambda: self.session.clock() >= end or self.is_late())
        found = self._confirmed(small, verdict, after, wanted)
        if isinstance(found, str) and not self.is_over():
            found = self._confirmed(test, verdict, after, wanted)
        return found

    def _unconfirmed(self) -> str:
        return "not confirmed in time" if self.is_over() else "not confirmed"

    def _confirmed(self, test: TestCase, verdict: Verdict, seen: Outcome, wanted: str) -> Change | str:
        """Return the confirmed change, or the reason why it is none.

        A change needs the same verdict in workers that have run no other test, and in a script of its own.
        """
        runs = self.options.runs
        try:
            script = render_printing(test, self.session.dialect)
        except (CodecError, BuildError):
            return "not confirmed"
        if not all(self._again(test, wanted) for _ in range(runs)):
            return self._unconfirmed()
        before, after = (self._printed(target, script) for target in (self.baseline, self.session.target))
        if self.is_over():
            return self._unconfirmed()
        if before is None or after is None:
            return "random"
        # Scripts must differ too: they agree if the workers were short of memory, for example. Values that both builds
        # return may look the same in print: a type, or the time of the call.
        returned = before.kind == after.kind == "ok"
        if not (seen.kind == "ok" and seen.text if returned else not self.pair.verdict(before, after).clean):
            return "not confirmed"
        return Change(test.invocation.api, verdict.kind, wanted, test, script, before, after, runs, runs)

    def _again(self, test: TestCase, wanted: str) -> bool:
        return not self.is_over() and self._look(test, fresh=True)[2] == wanted

    def _printed(self, target: TargetRecord, script: str) -> Outcome | None:
        """Return the outcome of a script in processes of its own; the text of a good end is its output.

        The result is None if the processes do not agree: workers are forks of one process, and find the same garbage in
        their memory.
        """
        options, dialect = self.options, self.session.dialect
        seconds = options.timeout * HANG_FACTOR + IMPORT_SECONDS
        if options.deadline is not None:
            # A script that the deadline cuts short gets one second: its outcome does not count.
            seconds = min(seconds, max(options.deadline - self.session.clock(), 1.0))
        first, again = (printed(target.python, script, dialect, seconds, self.benches.processes) for _ in range(2))
        alike = first.kind != "ok" or same_text(first.text, again.text)
        return first if alike and first[:2] == again[:2] else None
