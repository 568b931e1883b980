"""Three numbers in shared memory that outlive the worker: which test it was in, and since when."""

from __future__ import annotations

import mmap
import struct
import time
from typing import NamedTuple

SIZE = 32
_FORM = struct.Struct("<qqdq")


class Entry(NamedTuple):
    """lease and test (its index in the api's stream) name it; clock: CLOCK_MONOTONIC then; running: 1 inside."""

    lease: int
    test: int
    clock: float
    running: int


class Journal:
    """A memory-mapped file shared by the worker, which writes, and its supervisor, which reads."""

    def __init__(self, descriptor: int) -> None:
        self.memory = mmap.mmap(descriptor, SIZE)
        self.lease = 0
        self.index = 0

    def begin(self, lease: int, index: int) -> None:
        """Called right before a test."""
        self.lease, self.index = lease, index
        _FORM.pack_into(self.memory, 0, lease, index, time.monotonic(), 1)

    def end(self) -> None:
        """Called right after a test."""
        _FORM.pack_into(self.memory, 0, self.lease, self.index, time.monotonic(), 0)

    def read(self) -> Entry:
        """The last entry."""
        return Entry(*_FORM.unpack_from(self.memory, 0))

    def clear(self) -> None:
        """Before a new worker takes it over."""
        _FORM.pack_into(self.memory, 0, 0, 0, 0.0, 0)
