"""Where a result is written: into given memory, or into an argument."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import torch

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.modes import Clock
from fuzz_core.adapters.pytorch.modes.promised import Promised
from fuzz_core.adapters.pytorch.ways import inplace
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Invocation, Tensor, TestCase


class Out(Promised):
    """`out=` must be given what is returned without it."""

    def applies(self, test: TestCase) -> bool:
        """Where the api has such a parameter that the call leaves alone."""
        call = test.invocation
        free = call.then is None and all(name != "out" for name, _ in call.kwargs)
        return free and super().applies(test) and takes_out(self.function(test))

    def run(self, test: TestCase) -> Any:
        """See `Mode`: what the given tensors hold afterwards."""
        function, args, keywords = self.builder.parts(test.invocation)
        expected = function(*args, **keywords)
        place = _places(expected)
        self.adapter.reset(test.seed)
        function, args, keywords = self.builder.parts(test.invocation)
        self.builder.timed(function, args, {**keywords, "out": place})
        return place


def _places(result: Any) -> Any:
    """Memory for a result, with other numbers in it. Raises BuildError for what is no tensor, or a view."""
    if isinstance(result, torch.Tensor):
        if result.layout is not torch.strided or result._is_view():
            raise BuildError("nothing that out= could hold")
        return torch.empty_like(result, requires_grad=False).detach()
    if isinstance(result, tuple) and result and all(isinstance(part, torch.Tensor) for part in result):
        return tuple(map(_places, result))
    raise BuildError("nothing that out= could hold")


@cache
def takes_out(function: Any) -> bool:
    """Whether a function has a parameter `out`, by its signature or by the operator's schemas."""
    name = getattr(function, "__name__", "")
    try:
        return "out" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        schemas = _schemas_with_out()
    return function is getattr(torch, name, None) and f"aten::{name}" in schemas


@cache
def _schemas_with_out() -> frozenset[str]:
    schemas = torch._C._jit_get_all_schemas()
    return frozenset(s.name for s in schemas if any(a.name == "out" and a.kwarg_only for a in s.arguments))


class InPlace(Promised):
    """The call that writes into its argument must leave there what the plain one returns."""

    def __init__(self, adapter: Adapter, clock: Clock) -> None:
        super().__init__(adapter, clock)
        self.there: dict[str, bool] = {}

    def applies(self, test: TestCase) -> bool:
        """Where there is such a call, and its argument can be written to."""
        call = inplace(test.invocation)
        return call is not None and _target(call) is not None and self._exists(call) and super().applies(test)

    def _exists(self, call: Invocation) -> bool:
        found = self.there.get(call.api)
        if found is None:
            found = self.there[call.api] = self._looked_up(call)
        return found

    def _looked_up(self, call: Invocation) -> bool:
        try:
            function = self.builder.resolve(call.api)
        except BuildError:
            return False
        if not call.api.startswith("torch.nn."):
            return True
        try:
            return "inplace" in inspect.signature(function).parameters
        except (TypeError, ValueError):
            return False

    def run(self, test: TestCase) -> Any:
        """See `Mode`: what the argument holds afterwards."""
        call = inplace(test.invocation)
        assert call is not None
        function, args, keywords = self.builder.parts(call)
        before = args[0].shape, args[0].dtype
        self.builder.timed(function, args, keywords)
        if (args[0].shape, args[0].dtype) != before:
            raise BuildError("the argument has another shape now")
        return args[0]


def _target(call: Invocation) -> Tensor | None:
    """The tensor that is written to: the first argument, where gradients allow it."""
    args = call.args if call.then is None else call.then.args
    first = args[0] if args else None
    if not isinstance(first, Tensor) or first.container != "tensor" or first.requires_grad or first.strides is not None:
        return None
    return first
