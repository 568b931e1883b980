"""A journal in shared memory that outlives the worker: its current test, the time of its start, and its mode."""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from contextlib import suppress

# Bound at import: a test may put another function in the module's place.
from time import monotonic
from typing import NamedTuple

SIZE = 64
# Exit codes of a worker: an exception of nightfuzz's own code, and one that the library under test has brought about.
OWN_FAULT, DISTURBED = 70, 71
# Whether a test is executed, or executed in a mode that may take its time.
INSIDE, DEAR = 1, 2
# The mode of an entry about the reading of a result, which no call repeats.
READING = "reading"
_FORM = struct.Struct("<qqdq32s")
# Linux 5.1; Python names it from 3.13 on.
_F_SEAL_FUTURE_WRITE = 0x10


class Entry(NamedTuple):
    """An entry of the journal: the execution of a test, named by lease and test."""

    lease: int
    test: int  # index in the api's stream
    clock: float  # CLOCK_MONOTONIC at the start or the end
    running: int  # INSIDE or DEAR during an execution, 0 after it
    mode: str  # mode of the execution, empty for the first mode


def make() -> int:
    """Return a descriptor of an empty journal, for the worker to map and for its supervisor to read."""
    descriptor = os.memfd_create("journal", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, SIZE)
    return descriptor


class Journal:
    """A memory-mapped file shared by the worker, which writes, and its supervisor, which reads.

    The worker's end is sealed: a library that writes on descriptors which are not its own cannot reach it. A library
    may fork in a test and return in both processes. The copy of the worker has no journal and dies at its next entry:
    the supervisor would believe two processes that work on one lease.
    """

    def __init__(self, descriptor: int, *, reading: bool = False) -> None:
        self.memory = mmap.mmap(descriptor, SIZE, access=mmap.ACCESS_READ if reading else mmap.ACCESS_WRITE)
        self.lease = 0
        self.index = 0
        if not reading:
            self.memory.madvise(mmap.MADV_DONTFORK)
            for seals in (fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW, _F_SEAL_FUTURE_WRITE):
                with suppress(OSError):
                    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)

    def begin(self, lease: int, index: int) -> None:
        """Note the start of a test."""
        self.lease, self.index = lease, index
        self.again(False)

    def again(self, dear: bool, mode: str = "") -> None:
        """Note the start of each further execution of the test."""
        running = DEAR if dear else INSIDE
        _FORM.pack_into(self.memory, 0, self.lease, self.index, monotonic(), running, mode.encode())

    def end(self) -> None:
        """Note the end of a test."""
        _FORM.pack_into(self.memory, 0, self.lease, self.index, monotonic(), 0, b"")

    def read(self) -> Entry:
        """Return the last entry."""
        lease, test, clock, running, mode = _FORM.unpack_from(self.memory, 0)
        return Entry(lease, test, clock, running, mode.rstrip(b"\0").decode("ascii", "replace"))
