"""One dimension at a time: empty, of size one, a little longer or shorter; no dimension at all."""

from __future__ import annotations

from fuzz_core.ir.values import Tensor
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import TensorRule
from fuzz_core.mutation.rules.tensors import random_size, reshaped


def _resized(tensor: Tensor, axis: int, size: int) -> Tensor:
    return reshaped(tensor, (*tensor.shape[:axis], size, *tensor.shape[axis + 1 :]))


class EmptyDimension(TensorRule):
    """One dimension becomes 0: a tensor without elements."""

    name = "Empty Dimension"
    least_rank = 1

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """A tensor of the same rank with a zero size."""
        return _resized(tensor, ctx.rng.below(len(tensor.shape)), 0)


class UnitDimension(TensorRule):
    """One dimension becomes 1: broadcast, squeezed and divided by size minus one elsewhere."""

    name = "Unit Dimension"
    least_rank = 1

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """A tensor of the same rank with a size of one."""
        return _resized(tensor, ctx.rng.below(len(tensor.shape)), 1)


class ResizedDimension(TensorRule):
    """One dimension becomes one longer, one shorter or of a random size; the others stay."""

    name = "Resized Dimension"
    least_rank = 1

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """A tensor that differs in one size."""
        axis = ctx.rng.below(len(tensor.shape))
        size = tensor.shape[axis]
        return _resized(tensor, axis, ctx.rng.choice((size + 1, max(0, size - 1), random_size(ctx.rng))))


class ScalarTensor(TensorRule):
    """A tensor without dimensions."""

    name = "Scalar Tensor"
    least_rank = 1

    def change(self, tensor: Tensor, ctx: Context) -> Tensor:
        """A 0-d tensor."""
        return reshaped(tensor, ())
