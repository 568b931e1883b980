"""What the kernel tells of a worker from outside: nothing that runs in it can lie about that."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from fuzz_core.worker.descendants import children

# A library starts a thread of its own here and there (one per device for gradients); beyond that they are leaks.
MORE_THREADS = 16
MORE_DESCRIPTORS = 64
_MASKS = ("SigBlk", "SigIgn", "SigCgt", "Umask")


class Health(NamedTuple):
    """threads, descriptors, children: how many. masks: signals blocked, ignored, caught; the file mode mask.

    resident: bytes of memory that no file backs. settled: whether it is in its own directory.
    """

    threads: int
    descriptors: int
    children: int
    masks: tuple[str, ...]
    resident: int
    settled: bool

    def differs(self, fresh: Health) -> bool:
        """Whether a test has left something in the process that a fresh one does not have: later tests would see it."""
        return (
            self.children > 0
            or not self.settled
            or self.masks != fresh.masks
            or self.threads > fresh.threads + MORE_THREADS
            or not fresh.descriptors <= self.descriptors <= fresh.descriptors + MORE_DESCRIPTORS
        )


def health(pid: int, directory: Path) -> Health | None:
    """The state of a process that belongs in a directory; None where it has ended."""
    proc = Path(f"/proc/{pid}")
    try:
        fields = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
        descriptors = len(os.listdir(proc / "fd"))  # noqa: PTH208 - names alone, no paths
        settled = (proc / "cwd").readlink() == directory
        kilobytes = sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem"))
        masks = tuple(fields[name].strip() for name in _MASKS)
        return Health(int(fields["Threads"]), descriptors, len(children(pid)), masks, kilobytes << 10, settled)
    except (OSError, KeyError):
        return None
