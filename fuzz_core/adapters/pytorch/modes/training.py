"""Gradients as training asks for them; what is wrong with these is for other modes to say."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from fuzz_core.adapters.building import Change
from fuzz_core.adapters.modes import Changed
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.parts import tensors_of
from fuzz_core.ir.values import Ref, Tensor, TestCase


class _Leaves:
    """Tensors that gradients are asked for, and what may be changed in their place."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        if not isinstance(live, torch.Tensor) or not live.dtype.is_floating_point or live.layout is not torch.strided:
            return live
        return live.detach().requires_grad_().clone()

    def instance(self, live: Any) -> Any:
        """See `Change`."""
        return live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        return ref


class Backward(Changed):
    """The call and its backward pass, in its own precision: a crash is all that this can show."""

    relation = ""

    def change(self) -> Change:
        """See `Changed`."""
        return _Leaves()

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point tensor, or an object that may have weights."""
        floating = any(DTYPES[tensor.dtype].kind == "float" for tensor in tensors_of(test.invocation))
        return floating or test.invocation.then is not None

    def run(self, test: TestCase) -> Any:
        """See `Mode`: nothing. Raises BuildError where nothing is differentiable."""
        results = [leaf for leaf in tree_flatten(super().run(test))[0] if _is_differentiable(leaf)]
        if not results:
            raise BuildError("nothing to differentiate")
        sum((result.abs() if result.is_complex() else result).sum() for result in results).backward()


def _is_differentiable(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.layout is torch.strided
