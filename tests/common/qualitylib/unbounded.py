"""Functions that lose their numbers although the answer is one that would fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from qualitylib.array import op


@op()
def softmax(x: Any) -> Any:
    """Shares of exponentials; the largest is not taken out first.

    >>> import qualitylib
    >>> qualitylib.softmax(qualitylib.array(np.linspace(-90, 90, 5, dtype=np.float32)))
    """
    powers = np.exp(x)
    return powers / powers.sum()


@op()
def log_sum(x: Any) -> Any:
    """The logarithm of the sum of exponentials; the largest is not taken out first.

    >>> import qualitylib
    >>> qualitylib.log_sum(qualitylib.array(np.linspace(-90, 90, 5, dtype=np.float32)))
    """
    return np.log(np.exp(x).sum())


@op()
def sigmoid(x: Any) -> Any:
    """Between 0 and 1; as a quotient of exponentials.

    >>> import qualitylib
    >>> qualitylib.sigmoid(qualitylib.array(np.linspace(-90, 90, 5, dtype=np.float32)))
    """
    return np.exp(x) / (1 + np.exp(x))


@op()
def hill(x: Any) -> Any:
    """How much is bound; as a quotient of high powers.

    >>> import qualitylib
    >>> qualitylib.hill(qualitylib.array(np.linspace(1, 100, 5, dtype=np.float32)))
    """
    powers = x**20
    return powers / (1 + powers)


@op()
def geometric_mean(x: Any) -> Any:
    """The root of the product; which may not fit.

    >>> import qualitylib
    >>> qualitylib.geometric_mean(qualitylib.array(np.linspace(1, 100, 12, dtype=np.float32)))
    """
    return np.abs(np.prod(np.sort(x, None))) ** x.dtype.type(1 / max(x.size, 1))
