"""What the kernel tells of a worker from outside: nothing that runs in it can lie about that."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from fuzz_core.worker.descendants import children

# A library starts a thread of its own here and there (one per device for gradients); beyond that they are leaks.
MORE_THREADS = 16
MORE_DESCRIPTORS = 64
# The C library takes two real-time signals for itself as soon as there is a second thread.
_STANDARD_SIGNALS = 0x7FFFFFFF
_STATUS = re.compile(
    r"^Umask:\s*(\w+)$.*^RssAnon:\s*(\d+).*^RssShmem:\s*(\d+).*^Threads:\s*(\d+)$"
    r".*^SigBlk:\s*(\w+)$.*^SigIgn:\s*(\w+)$.*^SigCgt:\s*(\w+)$",
    re.DOTALL | re.MULTILINE,
)


class Health(NamedTuple):
    """threads, descriptors, children: how many. masks: signals blocked, ignored, caught; the file mode mask.

    resident: bytes of memory that no file backs. settled: whether it is in its own directory.
    """

    threads: int
    descriptors: int
    children: int
    masks: str
    resident: int
    settled: bool

    def changes(self, fresh: Health) -> set[str]:
        """What a test has left in the process that a fresh one does not have: later tests would see it."""
        found = {
            "children": self.children > 0,
            "directory": not self.settled,
            f"masks {self.masks}": self.masks != fresh.masks,
            "threads": self.threads > fresh.threads + MORE_THREADS,
            "descriptors": not fresh.descriptors <= self.descriptors <= fresh.descriptors + MORE_DESCRIPTORS,
        }
        return {name for name, there in found.items() if there}


def health(pid: int, directory: Path) -> Health | None:
    """The state of a process that belongs in a directory; None where it has ended."""
    try:
        # Asked for after every lease: files are read without detours.
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:  # noqa: PTH123
            status = _STATUS.search(file.read(8192).decode("utf-8", "replace"))
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208
        settled = os.readlink(f"/proc/{pid}/cwd") == str(directory)  # noqa: PTH115
    except OSError:
        return None
    if status is None:
        return None
    umask, anonymous, shared, threads, *masks = status.groups()
    signals = [f"{int(mask, 16) & _STANDARD_SIGNALS:x}" for mask in masks]
    resident = (int(anonymous) + int(shared)) << 10
    return Health(int(threads), descriptors, len(children(pid)), " ".join([*signals, umask]), resident, settled)
