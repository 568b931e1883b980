"""Does a bug show itself on a build? One strategy for each kind of reproduction, for findings and for known bugs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.adapters.quotes import quoted_in
from fuzz_core.campaign.bench import CORRUPTION_FACTOR, CRASH, PLAIN, Bench
from fuzz_core.ir.errors import BuildError, CodecError
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import TestCase
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.crash import PROGRAM
from fuzz_core.oracles.kinds import kind_of
from fuzz_core.store.records import BugRow, FindingRow
from fuzz_core.store.store import Store
from fuzz_core.triage.cluster import BugPlaces
from fuzz_core.triage.place import Symptom
from fuzz_core.triage.process import Confirmation
from fuzz_core.triage.recheck import (
    CHANGED,
    CLEAN,
    UNRUNNABLE,
    SingleRun,
    asserted,
    beside_plain,
    by_assertion,
    by_failure,
    by_verdicts,
)
from fuzz_core.triage.script import CALL, RAISED, draws, render, render_comparison
from fuzz_core.triage.signature import corrupts_heap, signature
from fuzz_core.triage.slow_calls import cost_pair, timing_check
from nightfuzz.reports.contradiction import outcome_sentence

# The oracles that execute a test case in other modes than the first.
COMPARING = ("differential", "nonfinite")


class Case(NamedTuple):
    """A bug on record with the verdict on the finding that it was made from."""

    bug: BugRow
    verdict: Verdict


def case_of(store: Store, bug: BugRow) -> Case:
    """Return the bug with the verdict that decided; an imported bug without findings has a verdict of its own."""
    found = store.findings(bug.target, "confirmed", bug.id)
    return Case(bug, found[0].verdict if found else Verdict(bug.oracle, bug.kind))


class Attempt(NamedTuple):
    """One script for a finding: of this test case, in the mode of the finding's verdict."""

    finding: FindingRow
    test: TestCase
    seeded: bool = False  # whether the script seeds the library's random streams

    def script(self, dialect: Dialect) -> str:
        """Return the standalone script.

        Raises:
            CodecError, BuildError: as `triage.script.render`.
        """
        verdict, outcome = self.finding.verdict, self.finding.outcome
        kind, mode = verdict.kind, verdict.mode
        compared = mode in (dialect.programs if self.test.program else dialect.ways)
        crash = verdict.oracle == "crash"
        pair = cost_pair(verdict.detail, dialect) if kind == "slow" else None
        told = kind_of(kind).expected, outcome_sentence(kind, outcome, mode)
        if pair is not None:
            timed = timing_check(pair, dialect)
            return render_comparison(self.test, pair.changed, dialect, *told, self.seeded, timed)
        if not compared:
            forbidden = quoted_in(outcome.text) if kind == "bounds" else None
            return render(self.test, dialect, *told, self.seeded, kind == "leak", forbidden)
        check = CALL if crash else RAISED if kind == "inconsistent" else None
        return render_comparison(self.test, mode, dialect, *told, self.seeded, check)


def symptom(
    finding: FindingRow, api: str = "", verdict: Verdict | None = None, outcome: Outcome | None = None
) -> Symptom:
    """Return the failure of a finding, or of another api, verdict or outcome that an execution showed."""
    api, verdict, outcome = api or finding.api, verdict or finding.verdict, outcome or finding.outcome
    return Symptom(finding.target, signature(api, verdict, outcome).text, api, verdict.kind, outcome)


class Reproduction:
    """Strategy that decides whether a bug shows itself: here by a script.

    Args:
        known: places of bugs on record that fresh interpreters have shown.
    """

    def __init__(self, bench: Bench, known: BugPlaces | None = None) -> None:
        self.bench = bench
        self.dialect = bench.dialect
        self.known = known or BugPlaces()

    def is_known(self, attempt: Attempt, verdict: Verdict, outcome: Outcome) -> bool:
        """Return whether an attempt with this outcome looks like a known bug."""
        return self.known.has(symptom(attempt.finding, attempt.test.invocation.api, verdict, outcome))

    def attempts(self, finding: FindingRow, small: TestCase) -> Iterator[Attempt]:
        """Yield attempts for a finding that was minimised to `small`.

        The attempts are: its script, its script with seeded streams, the test case as it was found.
        """
        first = [(small, True)] if draws(small, self.dialect) else [(small, False), (small, True)]
        tries = [*first, (finding.test, True)]
        yield from (Attempt(finding, *each) for each in dict.fromkeys(tries))

    def confirm(self, attempt: Attempt, runs: int, alone: bool = False) -> tuple[Confirmation, Verdict]:
        """Return the number of fresh processes that show the finding, and the verdict.

        A first run that does not show the bug is the only run.

        Args:
            alone: whether all processes are fresh interpreters, see `Bench.confirm`.
        """
        raise NotImplementedError

    def _counted(
        self, attempt: Attempt, kind: str, wanted: Callable[[Outcome], bool], runs: int, alone: bool
    ) -> Confirmation:
        script = attempt.script(self.dialect)
        first = self.bench.look(script, kind, alone)
        if not wanted(first):
            return Confirmation(0, 1, first, int(not alone))
        known = self.is_known(attempt, attempt.finding.verdict, attempt.finding.outcome)
        return self.bench.confirm(script, kind, wanted, runs, first, alone, known)

    def sightings(self, case: Case, runs: int) -> list[SingleRun]:
        """Run a bug on record in fresh processes; a script that cannot run has one run."""
        runs *= CORRUPTION_FACTOR if corrupts_heap(case.bug.outcome) else 1
        seen: list[SingleRun] = []
        while len(seen) < runs and not (seen and seen[-1].status == UNRUNNABLE):
            seen.append(self._look(case.bug, self.bench.run(case.bug.script, case.bug.kind), seen))
        return seen

    def _look(self, bug: BugRow, outcome: Outcome, before: Sequence[SingleRun]) -> SingleRun:
        raise NotImplementedError


class _Failure(Reproduction):
    """The script fails by itself: a death, a hang, or an exception that is a bug."""

    def attempts(self, finding: FindingRow, small: TestCase) -> Iterator[Attempt]:
        """Yield the plain call before the mode in which a worker died: that mode may be the second execution."""
        yield from super().attempts(_in(PLAIN, finding), small)
        # The mode in which it failed, or else those that were executed for the test case.
        own = finding.verdict.mode
        own = own if finding.test.program else self.dialect.way_of(own) or own
        modes = self.dialect.programs if finding.test.program else self.dialect.ways
        if finding.outcome.kind != "signal" and own not in modes:
            return
        for test in dict.fromkeys((small, finding.test)):
            planned = (oracle_of(name).plan(test, (PLAIN, *self.dialect.ways), self.dialect) for name in COMPARING)
            for mode in [own] if own in modes else itertools.chain.from_iterable(planned):
                yield Attempt(_in(mode, finding), test, True)

    def confirm(self, attempt: Attempt, runs: int, alone: bool = False) -> tuple[Confirmation, Verdict]:
        """Return how often the script fails as it does the first time.

        The same fault may have had another outcome under a worker's limits (an exception before the abort). A hang
        counts only if it was found as a hang: a script's limit is far longer than a test's.
        """
        script, found = attempt.script(self.dialect), attempt.finding.verdict
        first = self.bench.look(script, found.kind, alone)
        verdict = CRASH.judge({found.mode: first}, self.dialect)
        if verdict.clean or (verdict.kind == "hang" and found.kind != "hang"):
            return Confirmation(0, 1, first, int(not alone)), found

        def again(outcome: Outcome) -> bool:
            return CRASH.judge({PLAIN: outcome}, self.dialect).kind == verdict.kind

        known = self.is_known(attempt, verdict, first)
        return self.bench.confirm(script, verdict.kind, again, runs, first, alone, known), verdict

    def _look(self, bug: BugRow, outcome: Outcome, before: Sequence[SingleRun]) -> SingleRun:
        """Return the sighting of a bug that an outcome is.

        Native frames are looked up once for equal deaths, if needed.
        """
        seen = by_failure(bug, outcome, self.dialect)
        if seen.status != CHANGED or not (bug.outcome.frames and bug.outcome.name == outcome.name):
            return seen
        alike = [each.outcome.frames for each in before if each.outcome[:3] == outcome[:3]]
        there = outcome._replace(frames=alike[0]) if alike else self.bench.with_frames(outcome, bug.script)
        return by_failure(bug, there, self.dialect)


class _Words(_Failure):
    """An internal error: the program ends with the same words."""

    def attempts(self, finding: FindingRow, small: TestCase) -> Iterator[Attempt]:
        """Yield the smallest program, then the one that was found."""
        yield from (Attempt(finding, test) for test in dict.fromkeys((small, finding.test)))

    def confirm(self, attempt: Attempt, runs: int, alone: bool = False) -> tuple[Confirmation, Verdict]:
        """See `Reproduction`."""
        finding = attempt.finding
        wanted = signature(finding.api, finding.verdict, finding.outcome).text

        def same(outcome: Outcome) -> bool:
            return outcome.kind == "exception" and signature(finding.api, finding.verdict, outcome).text == wanted

        return self._counted(attempt, "exception", same, runs, alone), finding.verdict


class _Comparison(Reproduction):
    """The script calls in two modes and asserts that they agree."""

    def confirm(self, attempt: Attempt, runs: int, alone: bool = False) -> tuple[Confirmation, Verdict]:
        """Return how often the script ends with its assertion."""

        def asserts(outcome: Outcome) -> bool:
            return (outcome.kind, outcome.name) == ("exception", "AssertionError")

        seen = self._counted(attempt, "assertion", asserts, runs, alone)
        # The values are those of the script, whose call may be a simpler one than the finding's.
        return seen._replace(outcome=asserted(attempt.finding.outcome, seen.outcome)), attempt.finding.verdict

    def _look(self, bug: BugRow, outcome: Outcome, before: Sequence[SingleRun]) -> SingleRun:
        seen = by_assertion(bug, outcome, self.dialect)
        if seen.status not in (CLEAN, CHANGED):
            return seen
        try:
            plain = render(bug.test, self.dialect, seeded=True)
        except (CodecError, BuildError) as error:
            return SingleRun(UNRUNNABLE, outcome, str(error))
        return beside_plain(seen, self.bench.run(plain, bug.kind), bug.script)


class _Growth(_Comparison):
    """The script repeats the call and ends with an assertion on its own memory, or on the seconds of both calls."""

    def attempts(self, finding: FindingRow, small: TestCase) -> Iterator[Attempt]:
        """Yield the smallest test case alone."""
        yield Attempt(finding, small)


class _Replay(Reproduction):
    """A bug that no script can show (the cost of a call on another device) is replayed in fresh workers."""

    attempts = _Growth.attempts

    def confirm(self, attempt: Attempt, runs: int, alone: bool = False) -> tuple[Confirmation, Verdict]:
        """See `Reproduction`; a worker is always a fork."""
        finding = attempt.finding
        seen = [self.bench.evidence(attempt.test, finding, fresh=True) for _ in range(runs)]
        hits = [outcome for outcome in seen if outcome is not None]
        return Confirmation(len(hits), runs, hits[0] if hits else finding.outcome, runs), finding.verdict

    def sightings(self, case: Case, runs: int) -> list[SingleRun]:
        """See `Reproduction`."""
        bug = case.bug
        wanted = signature(bug.api, case.verdict, bug.outcome).text
        told = [self.bench.replayer.run(bug.test, fresh=True) for _ in range(runs)]
        self.bench.replayer.close()
        return [by_verdicts(bug, each.verdicts, wanted, each.outcome, self.dialect) for each in told]


_STRATEGIES: dict[str, type[Reproduction]] = {
    "script": _Failure,
    "words": _Words,
    "comparison": _Comparison,
    "growth": _Growth,
    "replay": _Replay,
}


def strategy(bench: Bench, verdict: Verdict, known: BugPlaces | None = None) -> Reproduction:
    """Return the strategy that reproduces a bug with this verdict on a build.

    Args:
        known: see `Reproduction`.
    """
    return _STRATEGIES[_way(verdict, bench.dialect)](bench, known)


def sightings(bench: Bench, case: Case, runs: int) -> list[SingleRun]:
    """Return the sightings of a bug in `runs` fresh processes.

    Chance decides whether a corrupted heap is noticed, so such a bug gets more runs.
    """
    return strategy(bench, case.verdict).sightings(case, runs)


def is_replayed(verdict: Verdict, dialect: Dialect) -> bool:
    """Return whether no script shows it, so that a worker has to replay it, which needs a plan."""
    return _way(verdict, dialect) == "replay"


def _way(verdict: Verdict, dialect: Dialect) -> str:
    """Return how bugs of the kind are reproduced; a mode that a script cannot show is replayed."""
    way, mode = kind_of(verdict.kind).reproduction, verdict.mode
    if verdict.kind == "slow" and cost_pair(verdict.detail, dialect):
        return "growth"
    if way == "comparison" and mode not in {*dialect.ways, *dialect.programs}:
        return "replay"
    return "words" if way == "script" and mode == PROGRAM else way


def _in(mode: str, finding: FindingRow) -> FindingRow:
    """Return the finding with a verdict about this mode."""
    said = finding.verdict.detail.partition(": ")[2]
    return finding._replace(verdict=finding.verdict._replace(detail=f"{mode}: {said}"))
