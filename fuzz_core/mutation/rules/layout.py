"""Memory layouts that a row-major kernel gets wrong; shape, dtype and elements stay.

Only for libraries whose tensors have strides.
"""

from __future__ import annotations

from fuzz_core.ir.values import Tensor
from fuzz_core.mutation.contract import Context
from fuzz_core.mutation.rules.bases import TensorRule
from fuzz_core.mutation.rules.tensors import dense_strides, restrided


class LayoutRule(TensorRule):
    """A rule for the strides alone."""

    containers = ("tensor", "parameter")
    least_rank = 1


class TransposedStrides(LayoutRule):
    """Column-major, or two dimensions swapped in memory: dense but not contiguous."""

    name = "Transposed Strides"
    least_rank = 2

    def change(self, tensor: Tensor, ctx: Context) -> Tensor | None:
        """The tensor as the transpose of a contiguous one."""
        rank = len(tensor.shape)
        first = ctx.rng.below(rank)
        second = (first + ctx.rng.between(1, rank - 1)) % rank
        shape = list(tensor.shape)
        shape[first], shape[second] = shape[second], shape[first]
        strides = list(dense_strides(tuple(shape)))
        strides[first], strides[second] = strides[second], strides[first]
        return restrided(tensor, tuple(strides))


class StepStrides(LayoutRule):
    """Every second or third element along the last dimension of a larger tensor: gaps between elements."""

    name = "Step Strides"

    def change(self, tensor: Tensor, ctx: Context) -> Tensor | None:
        """The tensor as a slice with a step."""
        step = ctx.rng.between(2, 3)
        return restrided(tensor, tuple(step * stride for stride in dense_strides(tensor.shape)))


class ExpandedStrides(LayoutRule):
    """Strides of zero along one dimension, or along all: many elements share one place."""

    name = "Expanded Strides"

    def change(self, tensor: Tensor, ctx: Context) -> Tensor | None:
        """The tensor as `expand` makes it."""
        if ctx.rng.chance(0.3):
            return restrided(tensor, (0,) * len(tensor.shape))
        axis = ctx.rng.below(len(tensor.shape))
        strides = list(dense_strides((*tensor.shape[:axis], 1, *tensor.shape[axis + 1 :])))
        strides[axis] = 0
        return restrided(tensor, tuple(strides))


class OverlappingStrides(LayoutRule):
    """Sliding windows, as `unfold` and `as_strided` make them: neighbouring rows share elements."""

    name = "Overlapping Strides"
    least_rank = 2

    def change(self, tensor: Tensor, ctx: Context) -> Tensor | None:
        """The tensor with one stride of its outer dimensions cut to one."""
        strides = list(dense_strides(tensor.shape))
        strides[ctx.rng.below(len(strides) - 1)] = 1
        return restrided(tensor, tuple(strides))
