"""Modes: ways to execute a test case, and what of their results must agree."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.building import Builder, Change
from fuzz_core.adapters.dialect import load_plugin
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import TestCase

Clock = Callable[[], float]


class Mode(Protocol):
    """One way to execute a test case.

    relation: what of its result must agree with the result of the mode `against`, one of `values`, `behaviour` (values,
    and to be accepted or refused alike), `shape` (and dtype), `strides` (of dimensions that have any), `metadata` (all
    three), `gradient` (derivatives, by the tolerances for numerical ones), `finite` (no NaN or infinity where the other
    has a number), or empty where it is not compared: only whether it is survived counts. blind: of one that is made
    without the elements of the arguments, and so cannot refuse what depends on them, the mode that differs from it in
    knowing them. dear: it takes its time, as compilers do. keeps_nan: false where it is documented to lose NaN.
    builder: makes its arguments.
    """

    against: str
    relation: str
    blind: str
    dear: bool
    keeps_nan: bool
    builder: Builder

    def applies(self, test: TestCase) -> bool:
        """Whether it differs from the plain mode for this test case; cheap."""

    def run(self, test: TestCase) -> Any:
        """The result of the call. Raises what the library raises, and BuildError where the mode has no such call."""


class Changed:
    """The call on the first device with its parts changed, compared with the plain one."""

    against = "cpu"
    relation = "values"
    blind = ""
    dear = False
    keeps_nan = True
    device = "cpu"

    def __init__(self, adapter: Adapter, clock: Clock = perf_counter) -> None:
        self.adapter = adapter
        self.builder = Builder(adapter, self.device, clock, self.change())

    def change(self) -> Change | None:
        """What becomes of the parts; None for nothing."""
        return None

    def applies(self, test: TestCase) -> bool:
        """See `Mode`: where there are tensors."""
        return next(tensors_of(test.invocation), None) is not None

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        return self.builder.call(test.invocation)


class Trained(Changed):
    """The call and its backward pass, in its own precision: a crash is all that this can show."""

    relation = ""

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point tensor, or an object that may have weights."""
        floating = any(DTYPES[tensor.dtype].kind == "float" for tensor in tensors_of(test.invocation))
        return floating or test.invocation.then is not None


class Plain:
    """The call as it is, on a device that the adapter enters by the mode's name."""

    relation = "values"
    blind = ""
    dear = False
    keeps_nan = True

    def __init__(self, adapter: Adapter, name: str, clock: Clock = perf_counter) -> None:
        self.adapter = adapter
        self.name = name
        self.against = "" if name == "cpu" else "cpu"
        self.builder = Builder(adapter, adapter.enter(name), clock)

    def applies(self, test: TestCase) -> bool:
        """Always."""
        return True

    def run(self, test: TestCase) -> Any:
        """See `Mode`; an error of the device belongs to the call that it waits for."""
        self.adapter.enter(self.name)
        result = self.builder.call(test.invocation)
        self.adapter.synchronise(self.name)
        return result


def mode_of(adapter: Adapter, name: str, clock: Clock = perf_counter) -> Mode:
    """A mode by name: one of the adapter's own ways, or a device."""
    if name in adapter.ways:
        made: Mode = load_plugin(adapter.ways, name, "mode")(adapter, clock)
        return made
    return Plain(adapter, name, clock)
