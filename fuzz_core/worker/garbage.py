"""What memory that nobody has written to is full of."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

GARBAGE = (0x5A, 0x33, 0xC1)
# malloc.h: what is allocated is filled with the complement of this byte.
_M_PERTURB = -6
_MALLOPT = getattr(ctypes.CDLL(None), "mallopt", None)


@contextmanager
def garbage(byte: int) -> Iterator[None]:
    """Within it, memory that nobody has written to is full of one byte, where glibc is the allocator."""
    if _MALLOPT is None:
        yield
        return
    _MALLOPT(_M_PERTURB, byte)
    try:
        yield
    finally:
        _MALLOPT(_M_PERTURB, 0)
