"""Functions that take what their documentation rules out, next to one that keeps to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from qualitylib.array import op


@op()
def every(x: Any, step: int) -> Any:
    """Every so-many-th element.

    Args:
        x: An array.
        step (int): Must be positive.

    >>> import qualitylib
    >>> qualitylib.every(qualitylib.array(np.arange(6.0)), 2)
    """
    return x.ravel()[:: max(step, 1)]


@op()
def quantile(x: Any, part: float) -> Any:
    """What so many of the elements are below.

    Args:
        x: An array.
        part (float): Must be between 0 and 1.

    >>> import qualitylib
    >>> qualitylib.quantile(qualitylib.array(np.arange(6.0)), 0.5)
    """
    return np.sort(x.ravel())[int(min(max(part, 0), 1) * (x.size - 1))]


@op()
def reduced(x: Any, how: str) -> Any:
    """One number out of all.

    Args:
        x: An array.
        how (str): One of 'sum' or 'mean'.

    >>> import qualitylib
    >>> qualitylib.reduced(qualitylib.array(np.arange(6.0)), "mean")
    """
    return x.mean() if how == "mean" else x.sum()


@op()
def trace(x: Any) -> Any:
    """The sum of a diagonal.

    Args:
        x: Must be 2-dimensional.

    >>> import qualitylib
    >>> qualitylib.trace(qualitylib.array(np.arange(6.0).reshape(2, 3)))
    """
    return np.atleast_2d(x).trace().sum()


@op()
def decayed(x: Any, by: float) -> Any:
    """Elements that become less.

    Args:
        x: An array.
        by (float): Must be between 0 and 1.

    >>> import qualitylib
    >>> qualitylib.decayed(qualitylib.array(np.arange(6.0)), 0.5)
    """
    if not 0 <= by <= 1:
        raise ValueError(f"by must be between 0 and 1, not {by}")
    return x * by
