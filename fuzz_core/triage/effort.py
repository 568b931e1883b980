"""Whether a call that does not end does what it was asked for: billions of steps take their time."""

from __future__ import annotations

from collections.abc import Callable

from fuzz_core.ir.values import Invocation, Prim, TestCase
from fuzz_core.triage.simpler import EXACT
from fuzz_core.triage.tree import Path, exchanged, positions

# The numbers that stand in for large ones: each is four times the one before.
SMALLER = tuple(1 << bits for bits in range(4, 31, 2))
# Seconds below which a call's time says nothing.
NOISE = 0.002
# A time that grows so often in a row, each time by so much, grows with the number.
IN_A_ROW, GROWTH = 2, 2.0


def is_asked_for(test: TestCase, seconds: Callable[[TestCase], float | None]) -> bool:
    """Whether the time that a call takes grows with its large numbers, as long as it can be seen to end.

    An endless loop does not begin with one number in place of a smaller one, unless that has wrapped around: then what
    comes before it takes no time. seconds: how long a test case takes, None where it does not return in time.
    """
    large = [path for path, value in positions(test.invocation) if _is_large(value)]
    before, grown = 0.0, 0
    for number in SMALLER if large else ():
        took = seconds(test._replace(invocation=_with(test.invocation, large, number)))
        if took is None:
            break
        grown = grown + 1 if before > NOISE and took > GROWTH * before else 0
        if grown == IN_A_ROW:
            return True
        before = took
    return False


def _is_large(value: object) -> bool:
    if not isinstance(value, Prim) or value.type != "int":
        return False
    return isinstance(value.value, int) and abs(value.value) > EXACT


def _with(call: Invocation, paths: list[Path], number: int) -> Invocation:
    for path in paths:
        made = exchanged(call, path, Prim("int", number))
        assert isinstance(made, Invocation)
        call = made
    return call
