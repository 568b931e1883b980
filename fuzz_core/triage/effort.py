"""Whether a call that does not end does what it was asked for: billions of steps take their time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from math import exp, log
from typing import TypeAlias

from fuzz_core.ir.tree import Path, exchanged, positions
from fuzz_core.ir.values import Invocation, Prim, TestCase

Number: TypeAlias = tuple[Path, int]
Time: TypeAlias = tuple[int, float]
Seconds: TypeAlias = Callable[[TestCase], float | None]

# The numbers that stand in for larger ones: close together while they are small, as a time may grow by their cube.
SMALLER = tuple(sorted({round(2 ** (half / 2)) for half in range(4, 20)} | {1 << bits for bits in range(10, 31, 2)}))
# Seconds below which a call's time says nothing.
NOISE = 0.002
# A time grows that comes to so many times an earlier one, by way of one that is so far from both.
GROWTH, STEP = 4.0, 1.5
# What grows may turn out to take so many times as long as it promises: what is larger fits no cache.
SLACK = 4.0
# The largest numbers are looked at one by one as well: all together may be no legal call.
ALONE = 3
# The logarithm of how many times longer than the last that ended: what is more is no number to reckon with.
MOST = 50.0


def excuse(test: TestCase, seconds: Seconds, hangs: Callable[[float], bool], limit: float) -> str:
    """Why a call that timed out is no bug; empty where it is one.

    seconds: until a test case ends, however it does; None where it does not in time. hangs: whether the call does not
    end in so many seconds, alone. limit: those within which a call ends.
    """
    if not hangs(limit):
        return f"ends within {limit:g} s"
    asked = seconds_asked_for(test, seconds)
    if asked >= limit or (asked * SLACK >= limit and not hangs(limit * SLACK)):
        return "takes as long as its numbers ask for"
    return ""


def seconds_asked_for(test: TestCase, seconds: Seconds) -> float:
    """What a call has to take as its time grows with its numbers; 0 where it does not.

    An endless loop does not begin with one number in place of a smaller one, unless that has wrapped around: then what
    comes before it takes no time, or far less.
    """
    numbers = sorted(_numbers(test.invocation), key=lambda each: -each[1])
    groups = [numbers] if len(numbers) == 1 else [numbers, *([each] for each in numbers[:ALONE])]
    return max((_promised(test, group, seconds) for group in groups if group), default=0.0)


def _numbers(call: Invocation) -> Iterator[Number]:
    """The integers that smaller ones can stand in for, without their signs."""
    for path, value in positions(call):
        if isinstance(value, Prim) and value.type == "int":
            assert isinstance(value.value, int)
            if abs(value.value) > SMALLER[0]:
                yield path, abs(value.value)


def _promised(test: TestCase, numbers: list[Number], seconds: Seconds) -> float:
    """Seconds, if a time goes on to grow by the power of these numbers by which it has grown."""
    times = [each for each in _times(test, numbers, seconds) if each[1] >= NOISE]
    early = _start(times)
    if early is None:
        return 0.0
    late, largest = times[-1], max(value for _, value in numbers)
    power = log(late[1] / early[1]) / log(late[0] / early[0])
    return late[1] * exp(min(power * log(largest / late[0]), MOST))


def _times(test: TestCase, numbers: list[Number], seconds: Seconds) -> Iterator[Time]:
    """How long it takes with smaller numbers in place of these, until it does not return in time."""
    largest = max(value for _, value in numbers)
    for smaller in itertools.takewhile(lambda number: number < largest, SMALLER):
        took = seconds(test._replace(invocation=_with(test.invocation, numbers, smaller)))
        if took is None:
            return
        yield smaller, took


def _start(times: list[Time]) -> Time | None:
    """The latest time from which the last one has grown."""
    for place, early in reversed(list(enumerate(times[:-1]))):
        last, between = times[-1][1], times[place + 1 : -1]
        if early[1] * GROWTH < last and any(early[1] * STEP < took < last / STEP for _, took in between):
            return early
    return None


def _with(call: Invocation, numbers: list[Number], number: int) -> Invocation:
    for path, value in numbers:
        made = exchanged(call, path, Prim("int", min(value, number)))
        assert isinstance(made, Invocation)
        call = made
    return call
