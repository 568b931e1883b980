"""The kernel's facts about a worker, from outside: code in the worker cannot falsify them.

A spare process, forked before it is needed, shows what a process looks like that has run no test.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from fuzz_core.execution.link import Link
from fuzz_core.execution.scratch import NoSpace
from fuzz_core.execution.zygote import Zygote
from fuzz_core.worker.limits import children

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
# Seconds after which a new process has done the library's first steps.
SETTLED_SECONDS = 1.0
# If the tests of this many apis leave the same change, the change is the library's normal state and no test's fault.
NORMAL_APIS = 3


class Health(NamedTuple):
    """The state of a process, as the kernel shows it."""

    threads: int  # their number
    descriptors: int  # their number
    children: int  # their number
    masks: str  # signals blocked, ignored, caught; the file mode mask
    resident: int  # bytes of memory that no file backs
    settled: bool  # whether the process is in its own directory

    def changes(self, fresh: Health) -> set[str]:
        """Return the changes that tests have left in the process, compared with a fresh one.

        Later tests would see these changes.
        """
        found = {
            "children": self.children > 0,
            "directory": not self.settled,
            f"masks {self.masks}": self.masks != fresh.masks,
            "threads": self.threads > fresh.threads + MORE_THREADS,
            "descriptors": not fresh.descriptors <= self.descriptors <= fresh.descriptors + MORE_DESCRIPTORS,
        }
        return {name for name, there in found.items() if there}


def health(pid: int, directory: Path) -> Health | None:
    """Return the state of a process that belongs in a directory; None where it has ended."""
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


class SpareProcess:
    """A spare process per pool, which also shows what a process looks like that has run no test."""

    def __init__(self, zygote: Zygote, memory: int) -> None:
        self.zygote = zygote
        self.memory = memory
        self.spare: Link | None = None
        self.since = 0.0
        # At first the zygote, then a spare process.
        self.fresh: Health | None = health(zygote.pid, zygote.root)
        self.settled = False
        self.blamed: dict[str, set[str]] = defaultdict(set)

    def keep(self) -> None:
        """Fork the spare process while the workers run.

        The fork and the library's first steps take longer than most tests.
        """
        if self.spare is None:
            # The caller that needs a process at once reports the error.
            with contextlib.suppress(OSError, NoSpace):
                self.spare = self.zygote.order("fuzz", self.memory)
                self.since = time.monotonic()
        elif not self.settled and time.monotonic() - self.since > SETTLED_SECONDS:
            self.settled = True
            if self.zygote.delivers(self.spare):
                self.fresh = health(self.spare.pid, self.spare.directory)

    def take(self) -> Link:
        """Return the spare process, or a new one.

        Raises:
            ZygoteError: the process cannot be forked.
            NoSpace: the disk is full.
        """
        if self.spare is not None and self.spare.generation != self.zygote.generation:
            self.close()
        child, self.spare = self.spare, None
        if child is not None and self.zygote.delivers(child):
            return child
        return self.zygote.fork("fuzz", self.memory)

    def changed(self, seen: Health, api: str) -> bool:
        """Return whether a process differs from a fresh one after tests of an api.

        Only changes that these tests alone can have made count.
        """
        changes = seen.changes(self.fresh) if self.fresh is not None else set()
        unusual = [change for change in changes if len(self.blamed[change]) < NORMAL_APIS]
        for change in unusual:
            self.blamed[change].add(api)
        return bool(unusual)

    def close(self) -> None:
        """End the spare process."""
        child, self.spare = self.spare, None
        if child is not None and self.zygote.delivers(child):
            child.discard()
