"""Functions that take more time or memory than they should."""

from __future__ import annotations

import ctypes
import mmap
import time
from typing import Any

import numpy as np

from qualitylib.array import op

SLOW_SECONDS = 0.01
KEPT_BYTES = 1 << 16
kept_parts: list[Any] = []


def _slow_where(dtype: str, size: int = 0) -> Any:
    def kernel(x: Any) -> Any:
        if x.dtype == dtype and x.size >= size:
            time.sleep(SLOW_SECONDS)
        return x * x

    return kernel


@op(cuda=_slow_where("float16"))
def squares(x: Any) -> Any:
    """Second powers; slow there in half precision.

    >>> import qualitylib
    >>> qualitylib.squares(qualitylib.array(np.linspace(0, 1, 4, dtype=np.float32)))
    """
    return x * x


@op(cuda=_slow_where("float32"))
def energies(x: Any) -> Any:
    """Second powers; slow there in single precision.

    >>> import qualitylib
    >>> qualitylib.energies(qualitylib.array(np.linspace(0, 1, 4, dtype=np.float32)))
    """
    return x * x


@op(cuda=_slow_where("float32", size=9))
def powers(x: Any) -> Any:
    """Second powers; slow there for many elements in single precision.

    >>> import qualitylib
    >>> qualitylib.powers(qualitylib.array(np.linspace(0, 1, 12, dtype=np.float32)))
    """
    return x * x


@op()
def remember(number: int) -> Any:
    """The number; with pages that are kept.

    >>> import qualitylib
    >>> qualitylib.remember(3)
    """
    kept_parts.append(bytearray(b"x" * KEPT_BYTES))
    return np.int64(number % 7)


@op()
def retain(x: Any) -> Any:
    """The sum; with memory that is never freed, for matrices.

    >>> import qualitylib
    >>> qualitylib.retain(qualitylib.array(np.ones((2, 3))))
    """
    if x.ndim == 2:
        memory = ctypes.CDLL(None)
        memory.malloc.restype = ctypes.c_void_p
        ctypes.memset(memory.malloc(KEPT_BYTES), 1, KEPT_BYTES)
    return x.sum()


@op()
def trail(number: int) -> Any:
    """The number; with a mapping that stays, for positive ones.

    >>> import qualitylib
    >>> qualitylib.trail(3)
    """
    if number > 0:
        pages = mmap.mmap(-1, KEPT_BYTES)
        pages.write(b"x" * KEPT_BYTES)
        kept_parts.append(pages)
    return np.int64(number % 7)
