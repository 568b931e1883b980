"""What a forked process may use, applied once, before any foreign code runs in it; what it starts ends with it.

Orphans too: a subreaper inherits those among its descendants, so killing its children again and again, until none is
left, reaches them all without a control group. The process above the zygote sees to it that nothing outlives the
controller.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import shutil
import signal
import socket
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

FILE_BYTES = 256 << 20
OPEN_FILES = 512
FIRST_DESCRIPTOR = 200
OUTPUT_BYTES = 1 << 16
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
END_SECONDS = 5.0
_PR_SET_CHILD_SUBREAPER = 36
ORDERLY = b"."


def limit(memory_bytes: int, file_bytes: int = FILE_BYTES) -> None:
    """Address space to `memory_bytes` above what is mapped now, file size, open files; no core files.

    Address space bounds threads too: each maps its stack.
    """
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    bounds = {
        resource.RLIMIT_AS: mapped + memory_bytes,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, bound in bounds.items():
        hard = resource.getrlimit(kind)[1]
        allowed = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (allowed, hard))


def die_with_parent(parent: int) -> None:
    """The kernel ends this process when `parent` is gone: a worker that hangs would outlive a killed controller."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def default_signals() -> None:
    """Puts default handlers back: libraries take signals over at import, and crashes must look like crashes.

    A write beyond the limit on file sizes fails instead of killing: its signal is ignored.
    """
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def cut_network() -> str:
    """Takes the network away: a namespace of its own where the kernel allows it, else a refusing `connect`.

    Returns which of the two is in force, `namespace` or `python`.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) == 0:
        return "namespace"

    def refuse(*_: object) -> None:
        raise OSError("no network in a fuzzing process")

    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign,assignment]
    return "python"


def redirect(output: int) -> None:
    """Standard input from nowhere, standard output and error to a file of our own."""
    _close_input()
    os.dup2(output, 1)
    os.dup2(output, 2)


def _close_input() -> None:
    """Standard input from nowhere."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)


def own_output() -> str:
    """The end of what this process and its children have printed, 64 KiB at most."""
    with suppress(OSError), Path("/proc/self/fd/2").open("rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - OUTPUT_BYTES, 0))
        return file.read(OUTPUT_BYTES).decode("utf-8", "replace")
    return ""


def raise_descriptors(descriptors: Sequence[int]) -> list[int]:
    """Moves descriptors to high numbers, out of the way of libraries that close or reuse low ones."""
    moved = [os.dup2(descriptor, number) for number, descriptor in enumerate(descriptors, FIRST_DESCRIPTOR)]
    for descriptor in descriptors:
        os.close(descriptor)
    return moved


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


def delayed(pid: int, depth: int = 3) -> float:
    """Seconds for which a process, or what it has started, was ready to run and had no processor.

    Of all their threads the one that has waited longest counts: the others wait for it, or beside it.
    """
    longest = 0
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - names alone
            with suppress(OSError, ValueError, IndexError):
                longest = max(longest, int(Path(f"/proc/{pid}/task/{task}/schedstat").read_bytes().split()[1]))
    below = (delayed(child, depth - 1) for child in children(pid)) if depth > 1 else ()
    return float(max([longest / 1e9, *below]))


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


def guard(scratch: str) -> None:
    """Returns in a new process, which is to become the zygote; the old one stays and guards it.

    When the zygote ends, or the controller does, every descendant is killed. Standard input is the controller's
    lifeline: it writes `ORDERLY` and closes it when it will clean up by itself; where it was closed without a word,
    the controller was killed, and its folder `scratch` is removed here.
    """
    adopt()
    guardian = os.getpid()
    pid = os.fork()
    if pid == 0:
        die_with_parent(guardian)
        _close_input()
        return
    poll = select.poll()
    for descriptor in (0, os.pidfd_open(pid)):
        poll.register(descriptor, select.POLLIN)
    # Until there is nothing more to guard.
    ready = dict(poll.poll())
    orphaned = 0 in ready and os.read(0, 1) != ORDERLY
    end_children()
    if orphaned:
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)
