"""How much memory this process holds, what that holds at first, and whether a call leaves some behind."""

from __future__ import annotations

import ctypes
import gc
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ROUND = 200
LEAST_BYTES = 1024
PAGE = resource.getpagesize()
GARBAGE = (0x5A, 0x33, 0xC1)
# malloc.h: what is allocated is filled with the complement of this byte.
_M_PERTURB = -6
_MALLOPT = getattr(ctypes.CDLL(None), "mallopt", None)


def resident() -> int:
    """Resident memory of this process in bytes."""
    with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - a tenth of the cost of a Path
        return int(file.read().split()[1]) * PAGE


def left_behind(call: Callable[[], object], held: Callable[[], int] = resident) -> int:
    """Bytes that each call leaves, where two rounds of 200 after a first one agree; 0 where memory settles.

    What fills a cache stops growing, what fragments the heap grows by fits and starts; a leak grows evenly.
    """
    sizes = []
    for _ in range(3):
        for _ in range(ROUND):
            call()
        # Cycles wait for Python's collector: they are no leak.
        gc.collect()
        sizes.append(held())
    least, most = sorted((sizes[1] - sizes[0], sizes[2] - sizes[1]))
    return least // ROUND if least >= LEAST_BYTES * ROUND and most <= 2 * least else 0


class Growth:
    """Where memory grew in a row of tests: block by block of 64."""

    BLOCK = 64

    def __init__(self, held: Callable[[], int] = resident) -> None:
        self.held = held
        self.first = self.last = held()
        self.begins = self.tests = 0
        self.worst = (0, 0)

    def before(self, index: int) -> None:
        """Called before each test."""
        if self.tests % self.BLOCK == 0:
            self._block(index)
        self.tests += 1

    def _block(self, index: int) -> None:
        now = self.held()
        if self.tests:
            self.worst = max(self.worst, (now - self.last, self.begins))
        self.last, self.begins = now, index

    def end(self, index: int) -> tuple[int, range]:
        """Bytes by which memory has grown, and the block of tests in which most; `index` is the first not run."""
        self._block(index)
        return self.last - self.first, range(self.worst[1], min(self.worst[1] + self.BLOCK, index))


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
