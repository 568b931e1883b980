"""Shapes and memory layouts: one dimension at a time, strides that a row-major kernel gets wrong, requires_grad."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from fuzz_core.adapters.arrays import row_major, span
from fuzz_core.ir.rng import Rng
from fuzz_core.ir.values import Tensor
from fuzz_core.mutation.contract import FLOATING, MAX_ELEMENTS, Context, mutator, tensors

_SMALL_SIZES = (0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 8)
_LARGE_SIZE_SHARE = 0.06
_LARGEST_SIZE = 64


def draw_size(rng: Rng) -> int:
    """Return the size of a dimension: mostly 0 to 8 (0 once in nineteen), now and then up to 64."""
    return rng.between(9, _LARGEST_SIZE) if rng.chance(_LARGE_SIZE_SHARE) else rng.choice(_SMALL_SIZES)


def reshape(tensor: Tensor, shape: Iterable[int]) -> Tensor:
    """Return the tensor with another shape, row-major; its contents are repeated or cut as needed.

    The largest sizes are halved until the tensor holds at most MAX_ELEMENTS.
    """
    sizes = list(shape)
    while prod(sizes) > MAX_ELEMENTS:
        sizes[sizes.index(max(sizes))] //= 2
    return Tensor(tensor.dtype, tuple(sizes), tensor.fill, tensor.container, None, tensor.requires_grad)


def _resize(tensor: Tensor, axis: int, size: int) -> Tensor:
    return reshape(tensor, (*tensor.shape[:axis], size, *tensor.shape[axis + 1 :]))


@mutator("Empty Dimension", tensors(least_rank=1), boundary=True)
def empty_dimension(tensor: Tensor, ctx: Context) -> Tensor:
    """Set a dimension to 0: a tensor without elements."""
    return _resize(tensor, ctx.rng.below(len(tensor.shape)), 0)


@mutator("Unit Dimension", tensors(least_rank=1), boundary=True)
def unit_dimension(tensor: Tensor, ctx: Context) -> Tensor:
    """Set a dimension to 1.

    Libraries broadcast it, squeeze it, or divide by its size minus one.
    """
    return _resize(tensor, ctx.rng.below(len(tensor.shape)), 1)


@mutator("Resized Dimension", tensors(least_rank=1))
def resized_dimension(tensor: Tensor, ctx: Context) -> Tensor:
    """Make a dimension one longer, one shorter or of a random size, and keep all further dimensions."""
    axis = ctx.rng.below(len(tensor.shape))
    size = tensor.shape[axis]
    return _resize(tensor, axis, ctx.rng.choice((size + 1, max(0, size - 1), draw_size(ctx.rng))))


@mutator("Scalar Tensor", tensors(least_rank=1), boundary=True)
def scalar_tensor(tensor: Tensor, ctx: Context) -> Tensor:
    """Return a tensor without dimensions."""
    return reshape(tensor, ())


def _restride(tensor: Tensor, strides: Iterable[int]) -> Tensor | None:
    """Return the tensor with other strides; None where its storage would pass MAX_ELEMENTS."""
    steps = tuple(strides)
    return None if span(tensor.shape, steps) > MAX_ELEMENTS else tensor._replace(strides=steps)


@mutator("Transposed Strides", tensors(least_rank=2, scope="strided"), boundary=True)
def transposed_strides(tensor: Tensor, ctx: Context) -> Tensor | None:
    """Column-major, or two dimensions swapped in memory: dense but not contiguous."""
    rank = len(tensor.shape)
    first = ctx.rng.below(rank)
    second = (first + ctx.rng.between(1, rank - 1)) % rank
    shape = list(tensor.shape)
    shape[first], shape[second] = shape[second], shape[first]
    strides = list(row_major(tuple(shape)))
    strides[first], strides[second] = strides[second], strides[first]
    return _restride(tensor, strides)


@mutator("Step Strides", tensors(least_rank=1, scope="strided"), boundary=True)
def step_strides(tensor: Tensor, ctx: Context) -> Tensor | None:
    """Return every second or third element along the last dimension of a larger tensor: gaps between elements."""
    step = ctx.rng.between(2, 3)
    return _restride(tensor, [step * stride for stride in row_major(tensor.shape)])


@mutator("Expanded Strides", tensors(least_rank=1, scope="strided"), boundary=True)
def expanded_strides(tensor: Tensor, ctx: Context) -> Tensor | None:
    """Return strides of zero along one dimension or along all, as `expand` makes them."""
    shape = tensor.shape
    if ctx.rng.chance(0.3):
        return _restride(tensor, (0,) * len(shape))
    axis = ctx.rng.below(len(shape))
    strides = list(row_major((*shape[:axis], 1, *shape[axis + 1 :])))
    strides[axis] = 0
    return _restride(tensor, strides)


@mutator("Overlapping Strides", tensors(least_rank=2, scope="strided"), boundary=True)
def overlapping_strides(tensor: Tensor, ctx: Context) -> Tensor | None:
    """Sliding windows, as `unfold` and `as_strided` make them: one stride of the outer dimensions becomes one."""
    strides = list(row_major(tensor.shape))
    strides[ctx.rng.below(len(strides) - 1)] = 1
    return _restride(tensor, strides)


@mutator("Requires Grad", tensors(*FLOATING, scope="strided"), boundary=True)
def requires_grad(tensor: Tensor, ctx: Context) -> Tensor:
    """requires_grad flipped, for dtypes that have gradients."""
    return tensor._replace(requires_grad=not tensor.requires_grad)
