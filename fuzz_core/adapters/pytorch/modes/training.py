"""Gradients as training asks for them; what is wrong with these is for other modes to say."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from fuzz_core.adapters.building import Change, Unchanged
from fuzz_core.adapters.modes import Trained
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Tensor, TestCase


class _Leaves(Unchanged):
    """Tensors that gradients are asked for, and what may be changed in their place."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        if not isinstance(live, torch.Tensor) or not live.dtype.is_floating_point or live.layout is not torch.strided:
            return live
        return live.detach().requires_grad_().clone()


class Backward(Trained):
    """See `Trained`."""

    def change(self) -> Change:
        """See `Changed`."""
        return _Leaves()

    def run(self, test: TestCase) -> Any:
        """See `Mode`: nothing. Raises BuildError where nothing is differentiable."""
        results = [leaf for leaf in tree_flatten(super().run(test))[0] if _is_differentiable(leaf)]
        if not results:
            raise BuildError("nothing to differentiate")
        sum((result.abs() if result.is_complex() else result).sum() for result in results).backward()


def _is_differentiable(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.layout is torch.strided
