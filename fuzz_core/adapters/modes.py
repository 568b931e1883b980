"""Modes: ways to execute a test case, and what of their results must agree."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Protocol

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.building import Builder
from fuzz_core.adapters.dialect import DEVICE, REFERENCE, ModeSpec, load_plugin
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.parts import tensors_of
from fuzz_core.ir.values import Ref, Tensor, TestCase

Clock = Callable[[], float]


class Mode(Protocol):
    """One way to execute a test case. builder: makes its arguments."""

    spec: ModeSpec
    builder: Builder

    def applies(self, test: TestCase) -> bool:
        """Whether it differs from the plain mode for this test case; cheap."""

    def run(self, test: TestCase) -> Any:
        """The result of the call. Raises what the library raises, and BuildError where the mode has no such call."""


class Changed:
    """The call on the first device.

    It is a `Change` of the call's parts: a subclass says what becomes of them, by default nothing.
    """

    device = "cpu"

    def __init__(self, adapter: Adapter, spec: ModeSpec, clock: Clock = perf_counter) -> None:
        self.adapter = adapter
        self.spec = spec
        self.builder = Builder(adapter, self.device, clock, self)

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        return live

    def instance(self, live: Any) -> Any:
        """See `Change`."""
        return live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        return ref

    def applies(self, test: TestCase) -> bool:
        """See `Mode`: where there are tensors."""
        return next(tensors_of(test.invocation), None) is not None

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        return self.builder.call(test.invocation)


class Trained(Changed):
    """The call and its backward pass, in its own precision: a crash is all that this can show."""

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point tensor, or an object that may have weights."""
        floating = any(DTYPES[tensor.dtype].kind == "float" for tensor in tensors_of(test.invocation))
        return floating or test.invocation.then is not None


class Plain:
    """The call as it is, on a device that the adapter enters by the mode's name."""

    def __init__(self, adapter: Adapter, name: str, clock: Clock = perf_counter) -> None:
        self.adapter = adapter
        self.name = name
        self.spec = REFERENCE if name == "cpu" else DEVICE
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
    spec = adapter.ways.get(name)
    if spec is None:
        return Plain(adapter, name, clock)
    made: Mode = load_plugin({name: spec.run}, name, "mode")(adapter, spec, clock)
    return made
