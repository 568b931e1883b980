"""Whatever a test starts ends with its worker, however far it went away: sessions of its own, orphans, copies.

A subreaper inherits the orphans among its descendants, so killing its children again and again, until none is left,
reaches them all without a control group.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from collections.abc import Collection
from contextlib import suppress

END_SECONDS = 5.0
_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Orphans among this process's descendants become its children."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children(pid: int | str = "self") -> list[int]:
    """The children of a process, those that have ended and were not waited for among them."""
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - names alone
    except OSError:
        return found
    for task in tasks:
        # A thread may end between the listing and the reading.
        with suppress(OSError), open(f"/proc/{pid}/task/{task}/children", "rb", buffering=0) as file:  # noqa: PTH123
            found += map(int, file.read().split())
    return found


def wait_for(pid: int, seconds: float) -> bool:
    """Whether a child has ended, within `seconds`; its status stays to be read."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(descriptor)


def end_children(keep: Collection[int] = (), seconds: float = END_SECONDS) -> None:
    """Kills and reaps all children but those in `keep`, then the orphans that these leave, until none is left.

    One that cannot die (a driver holds it) is left after `seconds`, for the next time.
    """
    deadline = time.monotonic() + seconds
    while doomed := [pid for pid in children() if pid not in keep]:
        for pid in doomed:
            os.kill(pid, signal.SIGKILL)
        for pid in doomed:
            if not wait_for(pid, max(0.0, deadline - time.monotonic())):
                return
            os.waitpid(pid, 0)
