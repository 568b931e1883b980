"""Modes: ways to execute a test case, from its description to live arguments and calls."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Any

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import DEVICE, REFERENCE, ModeSpec, load_plugin
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Slice, Tensor, TestCase, Then, Value

_SEQUENCES: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "set": set}
Clock = Callable[[], float]
_BUILTINS = ("bool", "int", "float", "complex", "str")


def of_leaves(
    function: Callable[..., Any], args: list[Any], keywords: dict[str, Any], wanted: Callable[[Any], bool]
) -> tuple[Callable[..., Any], list[Any]]:
    """Return a call as a function of some arguments, and these arguments, at any depth of lists and dictionaries."""
    found: list[Any] = []
    _each((args, keywords), lambda leaf: found.append(leaf) if wanted(leaf) else None)

    def call(*others: Any) -> Any:
        left = iter(others)
        again, named = _each((args, keywords), lambda leaf: next(left) if wanted(leaf) else leaf)
        return function(*again, **named)

    return call, found


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return nested arguments with each leaf changed, from left to right."""
    if type(value) in (list, tuple):
        return type(value)([_each(item, change) for item in value])
    return {key: _each(item, change) for key, item in value.items()} if type(value) is dict else change(value)


class Builder:
    """Makes values for one device, as `change` has them; public names are resolved once.

    Attributes:
        inside: seconds spent in the library's own calls so far, including calls that raised or made arguments.
        clock: returns seconds.
    """

    def __init__(
        self,
        adapter: Adapter,
        device: str = "cpu",
        clock: Clock = perf_counter,
        change: Mode | None = None,
    ) -> None:
        self.adapter = adapter
        self.device = device
        self.change = change
        self.clock = clock
        self.inside = 0.0
        self.names: dict[str, Any] = {}
        self.makers: dict[type, Callable[[Any], Any]] = {
            Prim: lambda value: ... if value.type == "ellipsis" else value.value,
            Seq: lambda value: _SEQUENCES[value.kind]([self.build(item) for item in value.items]),
            Map: lambda value: {key: self.build(item) for key, item in value.entries},
            Slice: lambda value: slice(*map(self.build, value)),
            Ref: self._ref,
            Tensor: lambda value: adapter.build(value, self.device),
            Invocation: self.made if change is None else self.call,
        }
        if change is not None:
            self.makers[Tensor] = lambda value: change.tensor(adapter.build(value, self.device), value)
            self.makers[Ref] = lambda value: self._ref(change.ref(value))

    def build(self, value: Value) -> Any:
        """Return a live object.

        Raises:
            BuildError: a part of the value cannot be built.
            Exception: the library raises one while it constructs an object.
        """
        return self.makers[type(value)](value)

    def resolve(self, api: str) -> Any:
        """Return the callable of a public name.

        Raises:
            BuildError: this target has no such name.
        """
        found = self.names.get(api)
        if found is None:
            found = self.names[api] = self.adapter.ref(Ref("name", api), self.device)
        return found

    def found(self, api: str) -> Any:
        """Return the callable of a public name; None if this target has none."""
        with suppress(BuildError):
            return self.resolve(api)
        return None

    def _ref(self, value: Ref) -> Any:
        if value.kind != "name":
            return self.adapter.ref(value, self.device)
        return getattr(builtins, value.name) if value.name in _BUILTINS else self.resolve(value.name)

    def call(self, invocation: Invocation) -> Any:
        """Call the api, then what is to be done with the instance; return the last result."""
        function, args, keywords = self.parts(invocation)
        return self.timed(function, args, keywords)

    def made(self, invocation: Invocation) -> Any:
        """Return an argument that another call makes.

        Constructors leave the check out by default, and kernels rely on it. Modes with a change are compared with a
        call that has passed the check.

        Raises:
            BuildError: the argument breaks the library's own invariants.
        """
        value = self.call(invocation)
        if refusal := self.adapter.refusal(value):
            raise BuildError(f"the library's own check refuses an argument: {refusal}")
        return value

    def parts(self, invocation: Invocation) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
        """Return the last call of an invocation: its function and its live arguments; an instance is made by now."""
        then = invocation.then
        function = self.resolve(invocation.api)
        if then is None:
            return function, *self._arguments(invocation)
        instance = self.timed(function, *self._arguments(invocation))
        if self.change is not None:
            instance = self.change.instance(instance)
        try:
            method = getattr(instance, then.method)
        except AttributeError as error:
            raise BuildError(f"no {invocation.api}.{then.method} in this target") from error
        return method, *self._arguments(then)

    def _arguments(self, call: Invocation | Then) -> tuple[list[Any], dict[str, Any]]:
        makers = self.makers
        args = [makers[type(value)](value) for value in call.args]
        return args, {name: makers[type(value)](value) for name, value in call.kwargs}

    def timed(self, function: Callable[..., Any], args: list[Any], keywords: dict[str, Any]) -> Any:
        """Call a function of the library on the clock, and return its result."""
        began = self.clock()
        try:
            result = function(*args, **keywords)
            self.adapter.finish(result)
            return result
        finally:
            self.inside += self.clock() - began


class Mode:
    """A mode of execution of a test case; the base class executes the call on the first device.

    A subclass changes parts of a call, so that the call means the same and is executed differently. The base class
    leaves them as they are.

    Attributes:
        builder: makes the arguments.
    """

    device = "cpu"

    def __init__(self, adapter: Adapter, spec: ModeSpec, clock: Clock = perf_counter) -> None:
        self.adapter = adapter
        self.spec = spec
        self.builder = Builder(adapter, self.device, clock, self)

    def tensor(self, live: Any, described: Tensor) -> Any:
        """Return the live tensor that the call gets for a tensor argument."""
        return live

    def instance(self, live: Any) -> Any:
        """Return the object with state (a module) that is called in place of the given one."""
        return live

    def ref(self, ref: Ref) -> Ref:
        """Return the reference that the call gets for a named argument: a dtype, a device."""
        return ref

    def applies(self, test: TestCase) -> bool:
        """Return whether it differs from the plain mode for this test case: whether there are tensors."""
        return next(tensors_of(test.invocation), None) is not None

    def hold(self) -> object:
        """Return an object that holds memory of a further device: calls meanwhile get other addresses there."""
        return None

    def run(self, test: TestCase) -> Any:
        """Return the result of the call.

        Raises:
            BuildError: the mode lacks the call.
            Exception: the library's own.
        """
        return self.builder.call(test.invocation)


class Trained(Mode):
    """Mode that executes the call and its backward pass, in the call's own precision: only crashes are faults here."""

    def applies(self, test: TestCase) -> bool:
        """Return whether the call has a floating-point tensor, or an object that may have weights."""
        floating = any(DTYPES[tensor.dtype].kind == "float" for tensor in tensors_of(test.invocation))
        return floating or test.invocation.then is not None


class Plain(Mode):
    """The call as it is, on the first device."""

    def __init__(self, adapter: Adapter, name: str, clock: Clock = perf_counter) -> None:
        self.adapter = adapter
        self.name = name
        self.spec = REFERENCE
        self.builder = Builder(adapter, adapter.enter(name), clock)

    def applies(self, test: TestCase) -> bool:
        """Return True."""
        return True

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        self.adapter.enter(self.name)
        return self.builder.call(test.invocation)


class Device(Mode):
    """The call on a further device, which the adapter enters by the mode's name and leaves after each call."""

    def __init__(self, adapter: Adapter, name: str, clock: Clock = perf_counter) -> None:
        self.adapter = adapter
        self.name = name
        self.first = adapter.device_modes()[0]
        self.spec = DEVICE
        self.builder = Builder(adapter, adapter.enter(name), clock, self)
        self.builder.makers[Invocation] = lambda value: self.instance(self.builder.made(value))

    def instance(self, live: Any) -> Any:
        """See `Mode`: on the device, with the numbers that the first device has drawn for it."""
        return self.adapter.move(live, self.builder.device)

    def applies(self, test: TestCase) -> bool:
        """Return True: calls without a tensor may take a device as an argument."""
        return True

    def run(self, test: TestCase) -> Any:
        """See `Mode`; an error of the device belongs to the call that it waits for."""
        try:
            self.adapter.enter(self.name)
            result = self.builder.call(test.invocation)
            self.adapter.synchronise(self.name)
            return result
        finally:
            self.adapter.enter(self.first)

    def hold(self) -> object:
        """See `Mode`."""
        return self.adapter.build(Tensor("float32", (1,)), self.builder.device)

    def start(self) -> None:
        """Have the library start the device, which takes it a second."""
        self.hold()
        self.adapter.synchronise(self.name)


def mode_of(adapter: Adapter, name: str, clock: Clock = perf_counter) -> Mode:
    """Return a mode by name: one of the adapter's own modes, or a device."""
    spec = adapter.ways.get(name)
    if spec is None:
        return (Plain if name == adapter.device_modes()[0] else Device)(adapter, name, clock)
    made: Mode = load_plugin({name: spec.run}, name, "mode")(adapter, spec, clock)
    return made
