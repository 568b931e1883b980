"""Does a bug show itself on a build? One strategy for each kind of reproduction, for findings and for known bugs."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from fuzz_core.adapters.dialect import Dialect, dialect_of
from fuzz_core.adapters.documented import quoted_in
from fuzz_core.campaign.session import Session
from fuzz_core.execution.replay import Replayer
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.errors import BuildError, CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.crash import PROGRAM
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.store.records import BugRow, FindingRow, TargetRecord
from fuzz_core.store.store import Store
from fuzz_core.triage.process import DEFAULT_MEMORY, Confirmation, Processes, confirm, frames, run_script
from fuzz_core.triage.recheck import (
    CHANGED,
    CLEAN,
    UNRUNNABLE,
    Sighting,
    asserted,
    beside_plain,
    by_assertion,
    by_failure,
    by_verdicts,
)
from fuzz_core.triage.script import CALL, RAISED, draws, render, render_comparison
from fuzz_core.triage.signature import corrupts_heap, signature
from nightfuzz.reports.contradiction import happened

PLAIN = "cpu"
IMPORT_SECONDS = 30.0
GDB_SECONDS = 120.0
HANG_IMPORT_SECONDS = 5.0
HANG_FACTOR = 5.0
CORRUPTION_FACTOR = 3
# For all that a script has its library compile, at the first run.
COMPILING_SECONDS = 180.0
# The oracles that execute a test case in other modes than the first.
COMPARING = ("differential", "nonfinite")
CRASH = oracle_of("crash")


class Case(NamedTuple):
    """A bug on record with the verdict on the finding that it was made from."""

    bug: BugRow
    verdict: Verdict


def case_of(store: Store, bug: BugRow) -> Case:
    """The bug with the verdict that decided; an imported bug without findings has what the bug itself says."""
    found = store.findings(bug.target, "confirmed", bug.id)
    return Case(bug, found[0].verdict if found else Verdict(bug.oracle, bug.kind))


class Attempt(NamedTuple):
    """One script for a finding: of this test case, in the mode of the finding's verdict.

    seeded: whether the script seeds the library's random streams.
    """

    finding: FindingRow
    test: TestCase
    seeded: bool = False

    def script(self, dialect: Dialect) -> str:
        """The standalone script. Raises as `triage.script.render` does."""
        verdict, outcome = self.finding.verdict, self.finding.outcome
        kind, mode = verdict.kind, verdict.mode
        compared = mode in (dialect.programs if self.test.program else dialect.ways)
        crash = verdict.oracle == "crash"
        told = kind_of(kind).expected, happened(kind, outcome, mode)
        if not compared:
            forbidden = quoted_in(outcome.text) if kind == "bounds" else None
            return render(self.test, dialect, *told, self.seeded, kind == "leak", forbidden)
        check = CALL if crash else RAISED if kind == "inconsistent" else None
        return render_comparison(self.test, mode, dialect, *told, self.seeded, check)


@dataclass
class Bench:
    """Runs scripts and replays test cases on one build, in one thread.

    plan: for bugs that a worker has to replay. timeout: a test's, in seconds. compiled: scripts whose library has
    compiled what they need.
    """

    target: TargetRecord
    processes: Processes
    timeout: float
    plan: Path | None = None
    stopped: Callable[[], bool] = lambda: False
    compiled: set[str] = field(default_factory=set)

    @property
    def dialect(self) -> Dialect:
        """The dialect of the target's library."""
        return dialect_of(self.target.library)

    def seconds(self, kind: str) -> float:
        """The time limit of a script that shows a bug of this kind."""
        return self.timeout * HANG_FACTOR + (HANG_IMPORT_SECONDS if kind == "hang" else IMPORT_SECONDS)

    def run(self, script: str, kind: str, seconds: float | None = None, memory_bytes: int = DEFAULT_MEMORY) -> Outcome:
        """Returns the outcome of a script in a fresh process. Compiling for the library does not count towards a hang's
        limit.
        """
        if kind == "hang" and self.dialect.compiled and script not in self.compiled:
            self.compiled.add(script)
            run_script(self.target.python, script, self.dialect, COMPILING_SECONDS, processes=self.processes)
        limits = (self.seconds(kind) if seconds is None else seconds, memory_bytes)
        return run_script(self.target.python, script, self.dialect, *limits, processes=self.processes)

    def count(self, script: str, kind: str, wanted: Callable[[Outcome], bool], runs: int) -> Confirmation:
        """How often a script ends as wanted."""
        limits = (runs, self.seconds(kind))
        return confirm(self.target.python, script, wanted, self.dialect, *limits, processes=self.processes)

    def with_frames(self, outcome: Outcome, script: str) -> Outcome:
        """A death with the native frames where it happened, unless it says by itself what it died of."""
        if outcome.kind != "signal" or outcome.frames or speaks(outcome):
            return outcome
        found = frames(self.target.python, script, GDB_SECONDS, self.dialect, self.processes)
        return outcome._replace(frames=found)

    @cached_property
    def replayer(self) -> Replayer:
        """Replays test cases, for one thread at a time; its zygote starts when it is asked for first."""
        zygote = Zygote(self.target.python, self.target.library, "fuzz", self.plan, self.stopped)
        return Replayer(zygote, self.timeout)

    def evidence(self, test: TestCase, finding: FindingRow, *, fresh: bool = False) -> Outcome | None:
        """The outcome in a replay that has the finding's own signature."""
        ours, mode = finding.verdict, finding.verdict.mode
        wanted = signature(finding.api, ours, finding.outcome).text
        replayed = self.replayer.run(test, fresh=fresh, weigh=ours.kind == "leak", mode=mode)
        plain = CRASH.judge({PLAIN: replayed.outcome}, self.dialect), replayed.outcome
        for verdict, outcome in [*replayed.verdicts, plain]:
            same = (verdict.oracle, verdict.kind) == (ours.oracle, ours.kind)
            if mode == PROGRAM:
                # Other ways into the library may end in the same words.
                same = same and verdict.mode == PROGRAM and outcome.frames == finding.outcome.frames
            if same and signature(finding.api, verdict, outcome).text == wanted:
                return outcome
        return None

    def sightings(self, case: Case, runs: int) -> list[Sighting]:
        """Returns the sightings of a bug in `runs` fresh processes; a corrupted heap is noticed by chance, and gets
        more runs.
        """
        return strategy(self, case.verdict).sightings(case, runs)

    def close(self) -> None:
        """Ends the zygote, if there is one."""
        if "replayer" in vars(self):
            self.replayer.zygote.close()


class Benches:
    """Benches of a session, one for each thread and build; all end together. plans: by build, see `Bench`."""

    def __init__(self, session: Session, timeout: float, plans: Mapping[str, Path | None]) -> None:
        self.session = session
        self.timeout = timeout
        self.plans = plans
        self.processes = Processes()
        self.made: dict[tuple[int, str], Bench] = {}

    def on(self, target: TargetRecord) -> Bench:
        """The bench of the thread that asks."""
        place = threading.get_ident(), target.key
        if place not in self.made:
            more = (self.timeout, self.plans.get(target.key), self.session.stopped)
            self.made[place] = Bench(target, self.processes, *more)
        return self.made[place]

    def close(self) -> None:
        """Ends all zygotes and scripts, and with them any work still running in a thread."""
        self.processes.end()
        for bench in list(self.made.values()):
            bench.close()


class Reproduction:
    """Strategy that decides whether a bug shows itself: here by a script."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.dialect = bench.dialect

    def attempts(self, finding: FindingRow, small: TestCase) -> Iterator[Attempt]:
        """Yields attempts for a finding that was minimised to `small`: its script, with seeded streams, as it was
        found.
        """
        first = [(small, True)] if draws(small, self.dialect) else [(small, False), (small, True)]
        tries = [*first, (finding.test, True)]
        yield from (Attempt(finding, *each) for each in dict.fromkeys(tries))

    def confirm(self, attempt: Attempt, runs: int) -> tuple[Confirmation, Verdict]:
        """How often it shows itself in fresh processes, and the verdict on that."""
        raise NotImplementedError

    def sightings(self, case: Case, runs: int) -> list[Sighting]:
        """What fresh processes say of a bug on record; a script that cannot run is not tried again."""
        runs *= CORRUPTION_FACTOR if corrupts_heap(case.bug.outcome) else 1
        seen: list[Sighting] = []
        while len(seen) < runs and not (seen and seen[-1].status == UNRUNNABLE):
            seen.append(self._look(case.bug, self.bench.run(case.bug.script, case.bug.kind), seen))
        return seen

    def _look(self, bug: BugRow, outcome: Outcome, before: Sequence[Sighting]) -> Sighting:
        raise NotImplementedError


class _Failure(Reproduction):
    """The script fails by itself: a death, a hang, or an exception that is a bug."""

    def attempts(self, finding: FindingRow, small: TestCase) -> Iterator[Attempt]:
        """The call as it is comes before the mode in which a worker died: that may have been its second execution."""
        yield from super().attempts(_in(PLAIN, finding), small)
        # The mode that the journal names, or else those that were executed for the test case.
        own = finding.verdict.mode
        modes = self.dialect.programs if finding.test.program else self.dialect.ways
        if finding.outcome.kind != "signal" and own not in modes:
            return
        for test in dict.fromkeys((small, finding.test)):
            planned = (oracle_of(name).plan(test, (PLAIN, *self.dialect.ways), self.dialect) for name in COMPARING)
            for mode in [own] if own in modes else itertools.chain.from_iterable(planned):
                yield Attempt(_in(mode, finding), test, True)

    def confirm(self, attempt: Attempt, runs: int) -> tuple[Confirmation, Verdict]:
        """How often the script fails as it does the first time.

        Under a worker's limits the same fault may have looked otherwise (an exception before the abort). A hang is one
        only where it was found as one: a script's limit is far longer than a test's. The first run has no limit of
        address space: some die of what the limit has denied them.
        """
        script, found = attempt.script(self.dialect), attempt.finding.verdict
        first = self.bench.run(script, found.kind, memory_bytes=0)
        verdict = CRASH.judge({found.mode: first}, self.dialect)
        if verdict.clean or (verdict.kind == "hang" and found.kind != "hang"):
            return Confirmation(0, 1, first), found
        # What the allocator notices of a corrupted heap depends on where things happen to lie: more runs tell.
        runs *= CORRUPTION_FACTOR if corrupts_heap(first) else 1

        def again(outcome: Outcome) -> bool:
            return CRASH.judge({PLAIN: outcome}, self.dialect).kind == verdict.kind

        more = self.bench.count(script, verdict.kind, again, runs - 1).hits if runs > 1 else 0
        return Confirmation(1 + more, runs, first), verdict

    def _look(self, bug: BugRow, outcome: Outcome, before: Sequence[Sighting]) -> Sighting:
        """Where it died is asked for only if the signature says where, and once for deaths that look alike."""
        seen = by_failure(bug, outcome, self.dialect)
        if seen.status != CHANGED or not (bug.outcome.frames and bug.outcome.name == outcome.name):
            return seen
        alike = [each.outcome.frames for each in before if each.outcome[:3] == outcome[:3]]
        there = outcome._replace(frames=alike[0]) if alike else self.bench.with_frames(outcome, bug.script)
        return by_failure(bug, there, self.dialect)


class _Words(_Failure):
    """An exception that nobody has thought of: the program ends with the same words."""

    def attempts(self, finding: FindingRow, small: TestCase) -> Iterator[Attempt]:
        """The smallest program, then the one that was found."""
        yield from (Attempt(finding, test) for test in dict.fromkeys((small, finding.test)))

    def confirm(self, attempt: Attempt, runs: int) -> tuple[Confirmation, Verdict]:
        """See `Reproduction`."""
        finding = attempt.finding
        wanted = signature(finding.api, finding.verdict, finding.outcome).text

        def same(outcome: Outcome) -> bool:
            return outcome.kind == "exception" and signature(finding.api, finding.verdict, outcome).text == wanted

        return self.bench.count(attempt.script(self.dialect), "exception", same, runs), finding.verdict


class _Comparison(Reproduction):
    """The script calls in two modes and asserts that they agree."""

    def confirm(self, attempt: Attempt, runs: int) -> tuple[Confirmation, Verdict]:
        """How often the script ends with its assertion."""

        def asserts(outcome: Outcome) -> bool:
            return (outcome.kind, outcome.name) == ("exception", "AssertionError")

        seen = self.bench.count(attempt.script(self.dialect), "assertion", asserts, runs)
        # The values are those of the script, whose call may be a simpler one than the finding's.
        return seen._replace(outcome=asserted(attempt.finding.outcome, seen.outcome)), attempt.finding.verdict

    def _look(self, bug: BugRow, outcome: Outcome, before: Sequence[Sighting]) -> Sighting:
        seen = by_assertion(bug, outcome, self.dialect)
        if seen.status not in (CLEAN, CHANGED):
            return seen
        try:
            plain = render(bug.test, self.dialect, seeded=True)
        except (CodecError, BuildError) as error:
            return Sighting(UNRUNNABLE, outcome, str(error))
        return beside_plain(seen, self.bench.run(plain, bug.kind), bug.script)


class _Growth(_Comparison):
    """The script repeats the call and ends with an assertion on its own memory."""

    def attempts(self, finding: FindingRow, small: TestCase) -> Iterator[Attempt]:
        """The smallest one alone."""
        yield Attempt(finding, small)


class _Replay(Reproduction):
    """What no script can show (the cost of a call) is replayed in fresh workers."""

    attempts = _Growth.attempts

    def confirm(self, attempt: Attempt, runs: int) -> tuple[Confirmation, Verdict]:
        """See `Reproduction`."""
        finding = attempt.finding
        seen = [self.bench.evidence(attempt.test, finding, fresh=True) for _ in range(runs)]
        hits = [outcome for outcome in seen if outcome is not None]
        return Confirmation(len(hits), runs, hits[0] if hits else finding.outcome), finding.verdict

    def sightings(self, case: Case, runs: int) -> list[Sighting]:
        """See `Reproduction`."""
        bug = case.bug
        wanted = signature(bug.api, case.verdict, bug.outcome).text
        told = [self.bench.replayer.run(bug.test, fresh=True) for _ in range(runs)]
        self.bench.replayer.close()
        return [by_verdicts(bug, each.verdicts, wanted, each.outcome, self.dialect) for each in told]


_STRATEGIES: dict[str, Callable[[Bench], Reproduction]] = {
    "script": _Failure,
    "words": _Words,
    "comparison": _Comparison,
    "growth": _Growth,
    "replay": _Replay,
}


def strategy(bench: Bench, verdict: Verdict) -> Reproduction:
    """How a bug with this verdict is reproduced on a build."""
    return _STRATEGIES[_way(verdict, bench.dialect)](bench)


def is_replayed(verdict: Verdict, dialect: Dialect) -> bool:
    """Whether no script shows it, so that a worker has to, which needs a plan."""
    return _way(verdict, dialect) == "replay"


def _way(verdict: Verdict, dialect: Dialect) -> str:
    """The way of the kind; a mode that a script cannot show is replayed."""
    way, mode = kind_of(verdict.kind).reproduction, verdict.mode
    if way == "comparison" and mode not in {*dialect.ways, *dialect.programs}:
        return "replay"
    return "words" if way == "script" and mode == PROGRAM else way


def speaks(outcome: Outcome) -> bool:
    """Whether the last words name the fault: then a debugger, which takes half a minute on TensorFlow, adds nothing."""
    return "Check failed" in outcome.text


def _in(mode: str, finding: FindingRow) -> FindingRow:
    """The finding with a verdict about this mode."""
    said = finding.verdict.detail.partition(": ")[2]
    return finding._replace(verdict=finding.verdict._replace(detail=f"{mode}: {said}"))
