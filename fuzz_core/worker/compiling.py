"""Tests of a library that compiles while it runs: what was compiled once is used well before more is compiled."""

from __future__ import annotations

import resource

from fuzz_core.ir.fuzztype import argument_names, fuzz_type
from fuzz_core.ir.tree import children
from fuzz_core.ir.values import Invocation, Tensor, TestCase, Value

# Tests of kinds that are compiled, between two that are not; and so many of the latter in a lease at most.
WARM_TESTS = 8
COLD_TESTS = 4
# So many tests in a row that would have to be compiled: there are no others.
MAX_POSTPONED = 32


class Compiling:
    """Chooses tests by what they would compile: operator, dtypes and ranks, which the types of arguments stand for."""

    def __init__(self) -> None:
        self.kinds: set[int] = set()
        self.seconds = _compiled()
        self.cold = self.postponed = 0
        self.warm = WARM_TESTS

    def lease(self) -> None:
        """A lease begins."""
        self.cold = 0

    def postpones(self, test: TestCase) -> bool:
        """Whether a test is left out: of a kind that is new to this process, while others would be quick."""
        if hash(kind(test.invocation)) in self.kinds:
            return False
        early = self.warm < WARM_TESTS and self.postponed < MAX_POSTPONED
        if early or self.cold >= COLD_TESTS:
            self.postponed += 1
            return True
        return False

    def executed(self, test: TestCase) -> bool:
        """Whether something was compiled for the test that was executed last."""
        before, self.seconds = self.seconds, _compiled()
        self.kinds.add(hash(kind(test.invocation)))
        self.postponed = 0
        if self.seconds == before:
            self.warm += 1
            return False
        self.warm = 0
        self.cold += 1
        return True


def kind(call: Invocation) -> tuple[object, ...]:
    """The api and the types of its arguments; an empty tensor is of a kind of its own."""
    return call.api, *zip(argument_names(call, {}), map(_type, children(call)), strict=True)


def _type(value: Value) -> object:
    if isinstance(value, Invocation):
        return kind(value)
    if isinstance(value, Tensor):
        return fuzz_type(value), value.size == 0
    return fuzz_type(value)


def _compiled() -> float:
    """Seconds of processor time that children of this process have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
