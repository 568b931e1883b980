"""One test case on two builds of a library: what each makes of it, and why a difference may mean nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from fuzz_core.adapters.dialect import Dialect
from fuzz_core.execution.replay import Replayer
from fuzz_core.ir.messages import Told
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Map, Prim, Seq, Tensor, TestCase, Value
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.oracles.versions import BASELINE, BETTER, SLOWER, WORSE
from fuzz_core.triage.difference import difference, distance
from fuzz_core.worker.doubts import AMPLIFIED, NUDGED, REFERENCE
from fuzz_core.worker.nearby import aside, tempered, without_ties
from fuzz_core.worker.scale import has_nan, largest_whole, overflows, scales

PLAIN = "cpu"
REPEATS = 3
SLOW_FACTOR = 10.0
# Below it a scheduler's slice is most of what is measured.
SLOW_SECONDS = 0.02
# A call that takes more of its time-out than this may run into it by chance.
HANG_SHARE = 0.1
LARGEST_WHOLE = 2.0**31


class Pair:
    """Two processes that execute the same test cases; `before` that of the baseline."""

    def __init__(self, before: Replayer, after: Replayer, dialect: Dialect) -> None:
        self.before = before
        self.after = after
        self.dialect = dialect
        self.oracle = oracle_of("versions")

    def judge(self, test: TestCase, fresh: bool = False) -> tuple[Verdict, Outcome]:
        """The verdict of the oracle, and the target's outcome with what differs in its text."""
        before, after = (_first(side.tell(test, fresh=fresh)[PLAIN]) for side in (self.before, self.after))
        seen = after.outcome
        if not fresh and "signal" in (before.outcome.kind, seen.kind):
            # Among what a process said before its death are words of earlier tests.
            return self.judge(test, fresh=True)
        if seen.kind == before.outcome.kind == "ok":
            text = _differs(before, after)
            seen = seen._replace(text=text, name=self._doubt(test, before, after, text) if text else "")
        verdict = self.verdict(before.outcome, seen)
        steady = verdict.clean or seen.kind == before.outcome.kind == "ok" or self._is_steady(test, before, after)
        return (verdict if steady else self.verdict(before.outcome, before.outcome)), seen

    def verdict(self, before: Outcome, after: Outcome) -> Verdict:
        """What the oracle says of two outcomes."""
        return self.oracle.judge({BASELINE: before, PLAIN: after}, self.dialect)

    def _is_steady(self, test: TestCase, before: Told, after: Told) -> bool:
        """Whether either build does the same again, and no call was slow already that now runs into its time-out."""
        for side, told in ((self.before, before), (self.after, after)):
            # A compiler that refuses takes its time, which no time-out counts.
            refused = self.dialect.miscompiled.search(told.outcome.text)
            if told.outcome.kind != "timeout" and told.outcome.seconds > HANG_SHARE * side.timeout and not refused:
                return False
            again = side.tell(test, repeats=REPEATS)[PLAIN]
            if any(_kind(each.outcome) != _kind(told.outcome) for each in again):
                return False
        return True

    def _doubt(self, test: TestCase, before: Told, after: Told, text: str) -> str:
        """Why a difference between two results is no change; else which of the two is right, where that can be told."""
        again = [side.tell(test, repeats=REPEATS)[PLAIN] for side in (self.before, self.after)]
        for first, rest in zip((before, after), again, strict=True):
            if any(each.value is None or _difference(first, each) for each in rest):
                return "random"
        if text == SLOWER:
            least, most = min(t.outcome.seconds for t in again[1]), max(t.outcome.seconds for t in again[0])
            return "" if least > SLOW_FACTOR * most else "by chance"
        if not text.startswith(("other values", "another float", "another complex", "another int", "another bool")):
            return ""
        assert before.value is not None
        assert after.value is not None
        unclear = _undefined(test, after.value) or self._about_ties(test, after.value)
        return unclear or self._by_reference(test, before, after)

    def _about_ties(self, test: TestCase, value: Value) -> str:
        """Which one of equals is meant is nobody's promise."""
        if not _whole(value):
            return ""
        if has_nan(test):
            return "NaN has no order"
        beside = aside(tempered(without_ties(test)))
        first, second = (_first(side.tell(beside)[PLAIN]) for side in (self.before, self.after))
        agree = first.value is not None and second.value is not None and not _difference(first, second)
        return "indices of equals" if agree else ""

    def _by_reference(self, test: TestCase, before: Told, after: Told) -> str:
        """By double precision on the target, where the library has such a mode."""
        told = self.after.tell(test, (PLAIN, REFERENCE, *NUDGED))
        reference = next((each.value for each in told.get(REFERENCE, ()) if each.value is not None), before.value)
        assert reference is not None
        far, near = (_apart(reference, each.value) for each in (after, before))
        moved = max((_apart(reference, each.value) for mode in NUDGED for each in told.get(mode, ())), default=0.0)
        if moved * AMPLIFIED >= max(far, near):
            return "ill-conditioned"
        if reference is before.value:
            return ""
        if near <= 1.0 < far:
            return WORSE
        return BETTER if far <= 1.0 < near else ""


def _apart(reference: Value, other: Value | None) -> float:
    return inf if other is None else distance(reference, other)


def _first(told: Sequence[Told]) -> Told:
    return told[0] if told else Told(Outcome("skipped", "no such mode"))


def _kind(outcome: Outcome) -> tuple[str, str]:
    return outcome.kind, outcome.name if outcome.kind == "exception" else ""


def _difference(before: Told, after: Told) -> str:
    assert before.value is not None
    assert after.value is not None
    return difference(before.value, after.value)


def _differs(before: Told, after: Told) -> str:
    if text := _difference(before, after):
        return text
    slower = after.outcome.seconds > SLOW_SECONDS and after.outcome.seconds > SLOW_FACTOR * before.outcome.seconds
    return SLOWER if slower else ""


def _undefined(test: TestCase, value: Value) -> str:
    """What compilers and processors are free in: see `worker.doubts`."""
    found = list(scales(test))
    if overflows(test) or (_whole(value) and any(not high < LARGEST_WHOLE for _, high, _ in found)):
        return "undefined conversion"
    if _whole(value) and largest_whole(test) >= LARGEST_WHOLE:
        return "overflow"
    return "denormal" if any(0 < low < tiny for low, _, tiny in found) else ""


def _whole(value: Value) -> bool:
    """Whether there are integers in a result."""
    return any(
        (isinstance(each, Tensor) and each.dtype.startswith(("int", "uint", "bool")))
        or (isinstance(each, Prim) and each.type in ("int", "bool"))
        for each in _leaves(value)
    )


def _leaves(value: Value) -> Iterator[Value]:
    if isinstance(value, Seq):
        for item in value.items:
            yield from _leaves(item)
    elif isinstance(value, Map):
        for _, item in value.entries:
            yield from _leaves(item)
    else:
        yield value
