"""Pair of builds of a library: the outcomes of one test case on both, and harmless reasons for a difference."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import inf

from fuzz_core.adapters.dialect import DOUBLE, NUDGED
from fuzz_core.campaign.bench import PLAIN, Bench
from fuzz_core.execution.replay import Replayer
from fuzz_core.ir.dtypes import coarseness
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.tree import walk
from fuzz_core.ir.values import Invocation, Prim, Slice, Tensor, TestCase, Value
from fuzz_core.ir.wire import ModeRun, ModeRuns
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.versions import BASELINE, BETTER, SLOWER, WORSE
from fuzz_core.triage.difference import difference, distance
from fuzz_core.worker.evidence import BUILD_OTHER, BUILD_SPEED, BUILD_VALUES, REPEATS
from fuzz_core.worker.excuses import find_excuse

VERSIONS = oracle_of("versions")
SLOW_FACTOR = 10.0
# Below it a scheduler's slice is most of what is measured.
SLOW_SECONDS = 0.02
# A call that takes more of its time-out than this may run into it by chance.
HANG_SHARE = 0.1
# The first words of `triage.difference` if numbers differ.
NUMBERS = ("other values", "another float", "another complex", "another int", "another bool")


class Pair:
    """Two processes that execute the same test cases; `before` that of the baseline."""

    def __init__(self, before: Bench, after: Bench) -> None:
        self.benches = before, after
        self.dialect = after.dialect

    @property
    def sides(self) -> tuple[Replayer, Replayer]:
        """Replayers of the baseline and of the target."""
        before, after = self.benches
        return before.replayer, after.replayer

    def judge(self, test: TestCase, fresh: bool = False) -> tuple[Verdict, Outcome]:
        """Return the verdict of the oracle, and the target's outcome with the difference in its text."""
        before, after = (_first(side.tell(test, fresh=fresh)[PLAIN]) for side in self.sides)
        seen = after.outcome
        if not fresh and "signal" in (before.outcome.kind, seen.kind):
            # The output of a process before its death may contain messages of earlier tests.
            return self.judge(test, fresh=True)
        if seen.kind == before.outcome.kind == "ok":
            slow = seen.seconds > SLOW_SECONDS and seen.seconds > SLOW_FACTOR * before.outcome.seconds
            seen = seen._replace(name="", text=_difference(before, after) or SLOWER * slow)
        if seen.kind == before.outcome.kind == "ok" and seen.text:
            # The reason why the difference is no change; else the right one of the two results, if it is known.
            evidence = BuildDifference(self, test, before, after, seen.text)
            excuse = find_excuse(evidence)
            seen = seen._replace(name=excuse.name if excuse else evidence.direction)
        verdict = self.verdict(before.outcome, seen)
        steady = verdict.clean or seen.kind == before.outcome.kind == "ok" or self._is_steady(test, before, after)
        return (verdict if steady else self.verdict(before.outcome, before.outcome)), seen

    def verdict(self, before: Outcome, after: Outcome) -> Verdict:
        """Return the oracle's verdict on two outcomes."""
        return VERSIONS.judge({BASELINE: before, PLAIN: after}, self.dialect)

    def _is_steady(self, test: TestCase, before: ModeRun, after: ModeRun) -> bool:
        """Return whether each build repeats its outcome, and no slow call now runs into its time-out."""
        for side, told in zip(self.sides, (before, after), strict=True):
            # A compiler that refuses takes its time, which no time-out counts.
            refused = self.dialect.miscompiled.search(told.outcome.text)
            if told.outcome.kind != "timeout" and told.outcome.seconds > HANG_SHARE * side.timeout and not refused:
                return False
            again = side.tell(test, repeats=REPEATS)[PLAIN]
            if any(_kind(each.outcome) != _kind(told.outcome) for each in again):
                return False
        return True


class BuildDifference:
    """Evidence of two builds whose results differ, see `worker.evidence`."""

    def __init__(self, pair: Pair, case: TestCase, before: ModeRun, after: ModeRun, text: str) -> None:
        self.pair = pair
        self.case = case
        self.before = before
        self.after = after
        if text == SLOWER:
            self.relation = BUILD_SPEED
        else:
            self.relation = BUILD_VALUES if text.startswith(NUMBERS) else BUILD_OTHER

    @cached_property
    def again(self) -> list[Sequence[ModeRun]]:
        """Return the results of the two builds when the test case is repeated."""
        return [side.tell(self.case, repeats=REPEATS)[PLAIN] for side in self.pair.sides]

    @property
    def is_random(self) -> bool:
        """See `worker.evidence.Evidence`."""
        sides = zip((self.before, self.after), self.again, strict=True)
        repeated = ((first, each) for first, rest in sides for each in rest)
        return any(each.value is None or bool(_difference(first, each)) for first, each in repeated)

    @property
    def is_faster_again(self) -> bool:
        """Whether a call that was slow is quick enough when it is repeated."""
        before, after = ([told.outcome.seconds for told in side] for side in self.again)
        return not min(after) > SLOW_FACTOR * max(before)

    @property
    def is_whole(self) -> bool:
        """See `worker.evidence.Difference`."""
        return self.after.value is not None and any(
            (isinstance(each, Tensor) and each.dtype.startswith(("int", "uint", "bool")))
            or (isinstance(each, Prim) and each.type in ("int", "bool"))
            for each in walk(self.after.value, (Invocation, Slice))
        )

    def agree(self, case: TestCase) -> bool | None:
        """See `worker.evidence.Difference`."""
        first, second = (_first(side.tell(case)[PLAIN]) for side in self.pair.sides)
        if first.value is None or second.value is None:
            return None
        return not _difference(first, second)

    @cached_property
    def precise(self) -> ModeRuns:
        """Return the target's results in double precision, if the library has such a mode."""
        return self.pair.sides[1].tell(self.case, (PLAIN, DOUBLE, *NUDGED))

    @property
    def reference(self) -> Value:
        """The result in double precision; without one, that of the baseline."""
        reference = next((t.value for t in self.precise.get(DOUBLE, ()) if t.value is not None), self.before.value)
        assert reference is not None
        return reference

    @cached_property
    def errors(self) -> tuple[float, float]:
        """How far the results of the target and of the baseline are from the reference."""
        return _apart(self.reference, self.after.value), _apart(self.reference, self.before.value)

    @property
    def nudged_error(self) -> float:
        """Largest change of the reference when the input is perturbed by roundings, as if of single precision."""
        nudged = (told.value for mode in NUDGED for told in self.precise.get(mode, ()))
        made = () if self.after.value is None else walk(self.after.value, (Invocation, Slice))
        coarse = coarseness(each.dtype for each in made if isinstance(each, Tensor))
        return max((_apart(self.reference, value) for value in nudged), default=0.0) / coarse

    @property
    def direction(self) -> str:
        """Return which of the two builds is right by the reference; empty if the reference does not decide."""
        if self.relation != BUILD_VALUES or self.reference is self.before.value:
            return ""
        far, near = self.errors
        if near <= 1.0 < far:
            return WORSE
        return BETTER if far <= 1.0 < near else ""


def _apart(reference: Value, other: Value | None) -> float:
    return inf if other is None else distance(reference, other)


def _first(told: Sequence[ModeRun]) -> ModeRun:
    return told[0] if told else ModeRun(Outcome("skipped", "no such mode"))


def _kind(outcome: Outcome) -> tuple[str, str]:
    return outcome.kind, outcome.name if outcome.kind == "exception" else ""


def _difference(before: ModeRun, after: ModeRun) -> str:
    assert before.value is not None
    assert after.value is not None
    return difference(before.value, after.value)
