"""From descriptions to live arguments and calls."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from time import perf_counter
from typing import Any

from fuzz_core.adapters.base import Adapter
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Invocation, Map, Prim, Ref, Seq, Slice, Tensor, Then, Value

_SEQUENCES: dict[str, Callable[[Any], Any]] = {"list": list, "tuple": tuple, "set": set}
_BUILTINS = ("bool", "int", "float", "complex", "str")


class Builder:
    """Makes values for one device; public names are resolved once.

    inside: seconds spent in the library's own calls so far, those that raised and those that made arguments included;
    `clock` gives seconds.
    """

    def __init__(self, adapter: Adapter, device: str = "cpu", clock: Callable[[], float] = perf_counter) -> None:
        self.adapter = adapter
        self.device = device
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
            Invocation: self.call,
        }

    def build(self, value: Value) -> Any:
        """A live object. Raises BuildError, or whatever the library raises while constructing an object."""
        return self.makers[type(value)](value)

    def resolve(self, api: str) -> Any:
        """The callable of a public name. Raises BuildError where this target has none."""
        found = self.names.get(api)
        if found is None:
            found = self.names[api] = self.adapter.ref(Ref("name", api), self.device)
        return found

    def _ref(self, value: Ref) -> Any:
        if value.kind != "name":
            return self.adapter.ref(value, self.device)
        return getattr(builtins, value.name) if value.name in _BUILTINS else self.resolve(value.name)

    def call(self, invocation: Invocation) -> Any:
        """Calls the api, then what is to be done with the instance; returns the last result."""
        function = self.resolve(invocation.api)
        result = self._timed(function, invocation)
        then = invocation.then
        if then is None:
            return result
        try:
            method = getattr(result, then.method)
        except AttributeError as error:
            raise BuildError(f"no {invocation.api}.{then.method} in this target") from error
        return self._timed(method, then)

    def _timed(self, function: Callable[..., Any], call: Invocation | Then) -> Any:
        makers = self.makers
        args = [makers[type(value)](value) for value in call.args]
        keywords = {name: makers[type(value)](value) for name, value in call.kwargs}
        began = self.clock()
        try:
            return function(*args, **keywords)
        finally:
            self.inside += self.clock() - began
