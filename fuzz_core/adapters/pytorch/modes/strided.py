"""The same numbers at other places in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from fuzz_core.adapters.building import Change
from fuzz_core.adapters.pytorch.modes.promised import Promised, speaks_of_storage
from fuzz_core.adapters.pytorch.ways import layout
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import Ref, Tensor, TestCase


@cache
def scattering(expression: str) -> Callable[[torch.Tensor], torch.Tensor]:
    """One of the expressions of `ways` as a function of `x`."""
    made: Callable[[torch.Tensor], torch.Tensor] = eval(f"lambda x: {expression}", {"torch": torch})
    return made


class Scattered:
    """Every row-major tensor in the layout that the test case's seed chooses; `made` holds those of the last call."""

    def __init__(self) -> None:
        self.seed = 0
        self.made: list[torch.Tensor] = []

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        expression = layout(described, self.seed)
        if not expression or not isinstance(live, torch.Tensor):
            return live
        made = scattering(expression)(live.detach())
        self.made.append(made)
        if isinstance(live, torch.nn.Parameter):
            return torch.nn.Parameter(made, requires_grad=live.requires_grad)
        return made.requires_grad_(live.requires_grad)

    def instance(self, live: Any) -> Any:
        """See `Change`: its parameters stay as they are."""
        return live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        return ref


class Strided(Promised):
    """A result must not depend on where in memory its arguments' elements stand."""

    def change(self) -> Change:
        """See `Changed`."""
        self.scattered = Scattered()
        return self.scattered

    def applies(self, test: TestCase) -> bool:
        """Where there is a row-major tensor with two elements or more, and nothing is said of how it is stored."""
        there = any(layout(tensor, test.seed) for tensor in tensors_of(test.invocation))
        return there and super().applies(test) and not speaks_of_storage(self.function(test))

    def run(self, test: TestCase) -> Any:
        """See `Mode`. Elements that share a place cannot be written to one by one."""
        self.scattered.seed = test.seed
        self.scattered.made.clear()
        try:
            result = super().run(test)
            if any(made._version and 0 in made.stride() for made in self.scattered.made):
                raise BuildError("it writes into an expanded argument")
            return result
        finally:
            self.scattered.made.clear()
