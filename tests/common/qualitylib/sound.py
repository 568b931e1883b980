"""Functions without a fault: what they do may look like one."""

from __future__ import annotations

from typing import Any

import numpy as np

from qualitylib.array import op


@op(slope=lambda a, b: np.ones(a.shape), inplace=True)
def add(a: Any, b: Any) -> Any:
    """Sums of one shape; others are refused.

    >>> import qualitylib
    >>> qualitylib.add(qualitylib.array(np.ones((2, 2))), qualitylib.array(np.ones((2, 2))))
    """
    if a.shape != b.shape:
        raise ValueError(f"shapes {a.shape} and {b.shape} differ")
    return a + b


@op(slope=lambda x: np.where(x > 0, 1.0, 0.0), inplace=True)
def relu(x: Any) -> Any:
    """Nothing below 0: a kink.

    >>> import qualitylib
    >>> qualitylib.relu(qualitylib.array(np.linspace(-1, 1, 5)))
    """
    return np.maximum(x, 0)


@op(slope=lambda x: np.cos(x), batched=np.sin, compiled=np.sin, threads=np.sin, cuda=np.sin)
def sine(x: Any) -> Any:
    """Sines, that large elements leave without a digit.

    >>> import qualitylib
    >>> qualitylib.sine(qualitylib.array(np.linspace(-1, 1, 5, dtype=np.float32)))
    """
    return np.sin(x)


@op()
def pairs(x: Any) -> Any:
    """Each element with the next one: a view that has every place of memory twice.

    >>> import qualitylib
    >>> qualitylib.pairs(qualitylib.array(np.linspace(0, 4, 5)))
    """
    flat = np.ascontiguousarray(x).ravel()
    return np.lib.stride_tricks.as_strided(flat, (max(flat.size - 1, 0), 2), (x.itemsize, x.itemsize))


@op(inplace=True)
def root(x: Any) -> Any:
    """Square roots: none of negative elements.

    >>> import qualitylib
    >>> qualitylib.root(qualitylib.array(np.linspace(0, 4, 5, dtype=np.float32)))
    """
    return np.sqrt(x)


@op(threads=lambda x: np.exp(x))
def exponential(x: Any) -> Any:
    """Exponentials, most of which fit into no number.

    >>> import qualitylib
    >>> qualitylib.exponential(qualitylib.array(np.linspace(0, 4, 5, dtype=np.float32)))
    """
    return np.exp(x)


@op(cuda=lambda x: np.cumsum(np.sort(x.ravel()))[-1] if x.size else x.sum())
def sum_anyhow(x: Any) -> Any:
    """The sum, in an order of its own there.

    >>> import qualitylib
    >>> qualitylib.sum_anyhow(qualitylib.array(np.linspace(0, 4, 5, dtype=np.float32)))
    """
    return x.sum()


@op(cuda=lambda x: x.size - 1 - np.argmax(x.ravel()[::-1]))
def place_of_largest(x: Any) -> Any:
    """Where the largest element stands: there, the last of several.

    >>> import qualitylib
    >>> qualitylib.place_of_largest(qualitylib.array(np.array([1.0, 3.0, 2.0])))
    """
    if x.dtype.kind != "f":
        raise TypeError(f"elements must be floating-point, not {x.dtype}")
    return np.int64(np.argmax(x))


@op()
def nonzero(x: Any) -> Any:
    """Where elements are not 0: as many as there are.

    >>> import qualitylib
    >>> qualitylib.nonzero(qualitylib.array(np.arange(4)))
    """
    return np.argwhere(x)


@op()
def noise(x: Any) -> Any:
    """Other numbers with every call.

    >>> import qualitylib
    >>> qualitylib.noise(qualitylib.array(np.ones(3)))
    """
    return np.random.random_sample(x.shape)


@op()
def unwritten(x: Any) -> Any:
    """Room that nothing is written to.

    >>> import qualitylib
    >>> qualitylib.unwritten(qualitylib.array(np.ones(40)))
    """
    return np.empty(x.shape, np.float32)


@op()
def narrowed(x: Any) -> Any:
    """As small integers, whether they fit or not.

    >>> import qualitylib
    >>> qualitylib.narrowed(qualitylib.array(np.linspace(0, 4, 5, dtype=np.float32)))
    """
    return x.astype(np.int8)


@op()
def reserve(count: int) -> Any:
    """Zeros, of which there may be too many.

    >>> import qualitylib
    >>> qualitylib.reserve(16)
    """
    return np.zeros(2**40 if count > 2**20 else max(count, 0))


@op()
def concat(parts: Any, axis: int = 0) -> Any:
    """Arrays one behind the other.

    >>> import qualitylib
    >>> qualitylib.concat([qualitylib.array(np.ones(2)), qualitylib.array(np.zeros(3))], axis=0)
    """
    if not parts or not all(-part.ndim <= axis < part.ndim for part in parts):
        raise ValueError(f"axis {axis} is out of range")
    return np.concatenate(parts, axis)


@op()
def matmul(a: Any, b: Any) -> Any:
    """The product of matrices.

    >>> import qualitylib
    >>> qualitylib.matmul(qualitylib.array(np.ones((2, 3))), qualitylib.array(np.ones((3, 2))))
    """
    return a @ b
