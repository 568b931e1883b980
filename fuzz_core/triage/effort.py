"""Effort of a call that does not return: whether its time grows with its numbers, or it is stuck."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from math import exp, log
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.elements import pack, period
from fuzz_core.ir.tree import Path, exchanged, positions
from fuzz_core.ir.values import Fill, Invocation, Prim, Tensor, TestCase, Value

Time: TypeAlias = tuple[int, float]
Seconds: TypeAlias = Callable[[TestCase], float | None]

# The number of bits of an integer in C.
CUT = 32


class Number(NamedTuple):
    """An integer of a call, `base + sign * size`, for which one of a smaller size can stand in."""

    path: Path
    value: Prim | Tensor  # the integer, or a tensor that has no larger one
    base: int
    size: int
    sign: int

    def smaller(self, size: int) -> Value:
        """Return the value with an integer of at most this size in place of it and of each larger one."""
        number = self.base + self.sign * min(self.size, size)
        if isinstance(self.value, Prim):
            return Prim("int", number)
        drawn = period(self.value)
        larger = np.abs(drawn.astype(np.float64)) >= min(abs(number), abs(_largest(drawn)))
        made = np.where(larger, np.array(number, drawn.dtype), drawn)
        return self.value._replace(fill=Fill("values", data=pack(made)))


# The numbers that replace larger ones. Small ones are close together, since a time may grow by their cube.
SMALLER = tuple(sorted({round(2 ** (half / 2)) for half in range(4, 20)} | {1 << bits for bits in range(10, 31, 2)}))
# Times below this number of seconds are noise.
NOISE = 0.002
# A time grows if it is GROWTH times an earlier one, and a time in between is STEP times away from both.
GROWTH, STEP = 4.0, 1.5
# A large call may take this many times as long as its smaller calls predict: large data does not fit the cache.
SLACK = 4.0
# A call near the limit gets this many times the limit.
NEAR = 2.0
# The largest numbers, this many, are also tried one by one: all together may be no legal call.
ALONE = 3
# The largest logarithm of a predicted time, as a multiple of the last measured one: the cut prevents an overflow.
MOST = 50.0


def excuse(test: TestCase, seconds: Seconds, hangs: Callable[[float], bool], limit: float) -> str:
    """Return why a call that timed out is no bug; empty if it is one.

    Calls with smaller numbers in their arguments are tried first. Such calls are cheap, and separate work that grows
    with the arguments from a call that is stuck.

    Args:
        seconds: returns the seconds until a test case ends, with a result or not; None if it does not end in time.
        hangs: returns whether the call, run alone, is still running after this many seconds.
        limit: the seconds within which a call must end.
    """
    asked = seconds_asked_for(test, seconds)
    if asked >= limit:
        return "takes as long as its numbers ask for"
    # A time near the limit may grow faster than the power of its numbers predicts.
    near = asked * SLACK >= limit
    longest = limit * (NEAR if near else 1.0)
    if hangs(longest):
        return ""
    return "takes as long as its numbers ask for" if near else f"ends within {longest:g} s"


def seconds_asked_for(test: TestCase, seconds: Seconds) -> float:
    """Return the seconds that a call needs by the growth of its time with its numbers; 0 if the time does not grow.

    An endless loop does not begin between two numbers unless the larger one has wrapped around. Then the calls with
    smaller numbers take no time, or far less.
    """
    integers = {
        path: (value, number)
        for path, value in positions(test.invocation)
        if isinstance(value, Prim | Tensor) and (number := _integer(value)) is not None
    }
    asked = 0.0
    # A kernel may refuse numbers without their signs or with them, and may cut a number to its lowest bits.
    for split in (_unsigned, _signed, _cut):
        found = [Number(path, value, *split(number)) for path, (value, number) in integers.items()]
        numbers = [each for each in found if each.size > SMALLER[0]]
        numbers.sort(key=lambda each: -each.size)
        groups = [numbers] if len(numbers) == 1 else [numbers, *([each] for each in numbers[:ALONE])]
        asked = max((_promised(test, group, seconds) for group in groups if group), default=0.0)
        if asked:
            break
    return asked


def _integer(value: Prim | Tensor) -> int | None:
    """Return an integer, or the largest one of a tensor; None for other values."""
    if isinstance(value, Prim):
        return value.value if type(value.value) is int else None
    if not value.size or DTYPES[value.dtype].kind not in ("int", "uint"):
        return None
    return _largest(period(value))


def _largest(drawn: NDArray[Any]) -> int:
    return int(drawn[np.abs(drawn.astype(np.float64)).argmax()])


def _unsigned(number: int) -> tuple[int, int, int]:
    return 0, abs(number), 1


def _signed(number: int) -> tuple[int, int, int]:
    return 0, max(-number, 0), -1


def _cut(number: int) -> tuple[int, int, int]:
    high = number >> CUT << CUT
    return high, number - high if abs(number) >> CUT else 0, 1


def _promised(test: TestCase, numbers: list[Number], seconds: Seconds) -> float:
    """Return the predicted seconds, if the time keeps growing by the same power of these numbers."""
    times = [each for each in _times(test, numbers, seconds) if each[1] >= NOISE]
    early = _start(times)
    if early is None:
        return 0.0
    late, largest = times[-1], max(each.size for each in numbers)
    power = log(late[1] / early[1]) / log(late[0] / early[0])
    return late[1] * exp(min(power * log(largest / late[0]), MOST))


def _times(test: TestCase, numbers: list[Number], seconds: Seconds) -> Iterator[Time]:
    """Yield the times of the call with smaller numbers in place of these, until it does not return in time."""
    largest = max(each.size for each in numbers)
    for smaller in itertools.takewhile(lambda number: number < largest, SMALLER):
        took = seconds(test._replace(invocation=_with(test.invocation, numbers, smaller)))
        if took is None:
            return
        yield smaller, took


def _start(times: list[Time]) -> Time | None:
    """Return the latest time from which the last one has grown."""
    for place, early in reversed(list(enumerate(times[:-1]))):
        last, between = times[-1][1], times[place + 1 : -1]
        if early[1] * GROWTH < last and any(early[1] * STEP < took < last / STEP for _, took in between):
            return early
    return None


def _with(call: Invocation, numbers: list[Number], size: int) -> Invocation:
    for number in numbers:
        call = exchanged(call, number.path, number.smaller(size))
    return call
