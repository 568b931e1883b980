"""The same numbers at other places in memory."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.building import Builder
from fuzz_core.adapters.modes import Clock
from fuzz_core.ir.parts import tensors_of
from fuzz_core.ir.values import Ref, Tensor, TestCase


class _Scattered:
    """Every row-major tensor becomes one that is not contiguous."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        if not isinstance(live, torch.Tensor) or not scatters(described):
            return live
        made = scattered(live.detach())
        if isinstance(live, torch.nn.Parameter):
            return torch.nn.Parameter(made, requires_grad=live.requires_grad)
        return made.requires_grad_(live.requires_grad)

    def instance(self, live: Any) -> Any:
        """See `Change`: its parameters stay as they are."""
        return live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        return ref


def scatters(described: Tensor) -> bool:
    """Whether a tensor has a layout that can be another one."""
    return described.container != "ndarray" and described.strides is None and described.size > 1


def scattered(live: torch.Tensor) -> torch.Tensor:
    """The last two dimensions change places in memory; of a vector, every second element of a longer one is used."""
    if live.ndim == 1:
        return live.repeat_interleave(2)[::2]
    return live.mT.contiguous().mT


class Strided:
    """A result must not depend on where in memory its arguments' elements stand."""

    against = "cpu"
    relation = "values"

    def __init__(self, adapter: Adapter, clock: Clock = perf_counter) -> None:
        self.builder = Builder(adapter, "cpu", clock, _Scattered())

    def applies(self, test: TestCase) -> bool:
        """Where there is a row-major tensor with two elements or more."""
        return any(scatters(tensor) for tensor in tensors_of(test.invocation))

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        return self.builder.call(test.invocation)
