"""Limits of a forked process, applied once, before any foreign code runs in it. Its descendants end as well.

Orphans end too: a subreaper inherits those among its descendants. The process kills its children again and again, until
none is left. So it reaches them all without a control group. The process above the zygote ends all processes that would
outlive the controller.
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
    """Limit memory, file size and open files, and allow no core files.

    The limit of the private memory that can be written is `memory_bytes` above its current size. It bounds threads too:
    each has its stack there. The address space has no limit, because CUDA reserves more than a machine has memory.
    """
    private = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    bounds = {
        resource.RLIMIT_DATA: private + memory_bytes,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, bound in bounds.items():
        hard = resource.getrlimit(kind)[1]
        allowed = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (allowed, hard))


def die_with_parent(parent: int) -> None:
    """Make the kernel end this process with `parent`: a worker that hangs would outlive a killed controller."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def default_signals() -> None:
    """Restore default handlers: libraries take signals over at import, and crashes must look like crashes.

    A write beyond the limit on file sizes fails instead of killing: its signal is ignored.
    """
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGINT, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def cut_network() -> str:
    """Take the network away: by a separate namespace if the kernel allows it, else by a refusing `connect`.

    Returns:
        Which of the two is in force, `namespace` or `python`.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) == 0:
        return "namespace"

    def refuse(*_: object) -> None:
        raise OSError("no network in a fuzzing process")

    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign,assignment]
    return "python"


def redirect(output: int) -> None:
    """Redirect standard input to the null device, and standard output and error to a file of nightfuzz."""
    _close_input()
    os.dup2(output, 1)
    os.dup2(output, 2)


def _close_input() -> None:
    """Redirect standard input to the null device."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)


def own_output() -> str:
    """Return the end of the output of this process and its children, 64 KiB at most."""
    with suppress(OSError), Path("/proc/self/fd/2").open("rb") as file:
        file.seek(max(os.fstat(file.fileno()).st_size - OUTPUT_BYTES, 0))
        return file.read(OUTPUT_BYTES).decode("utf-8", "replace")
    return ""


def raise_descriptors(descriptors: Sequence[int]) -> list[int]:
    """Move descriptors to high numbers, out of the way of libraries that close or reuse low ones."""
    moved = [os.dup2(descriptor, number) for number, descriptor in enumerate(descriptors, FIRST_DESCRIPTOR)]
    for descriptor in descriptors:
        os.close(descriptor)
    return moved


def adopt() -> None:
    """Make orphans among this process's descendants its children."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children(pid: int | str = "self") -> list[int]:
    """Return the children of a process, including those that have ended and were not waited for."""
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
    """Return the seconds for which a process or its descendants were ready to run and had no processor.

    The thread that has waited longest counts: further threads wait for it, or at the same time.
    """
    longest = 0
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - names alone
            with suppress(OSError, ValueError, IndexError):
                longest = max(longest, int(Path(f"/proc/{pid}/task/{task}/schedstat").read_bytes().split()[1]))
    below = (delayed(child, depth - 1) for child in children(pid)) if depth > 1 else ()
    return float(max([longest / 1e9, *below]))


def wait_for(pid: int, seconds: float) -> bool:
    """Return whether a child has ended, within `seconds`; its status stays to be read."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(descriptor)


def end_children(keep: Collection[int] = (), seconds: float = END_SECONDS) -> None:
    """Kill and reap all children but those in `keep`, then the orphans that these leave, until none is left.

    A child that cannot die (a driver holds it) is left after `seconds`, for the next time.
    """
    deadline = time.monotonic() + seconds
    while doomed := [pid for pid in children() if pid not in keep]:
        for pid in doomed:
            os.kill(pid, signal.SIGKILL)
        for pid in doomed:
            if not wait_for(pid, max(0.0, deadline - time.monotonic())):
                return
            os.waitpid(pid, 0)


def fork_guarded(scratch: str) -> None:
    """Fork, and return in the new process, which becomes the zygote; the old process stays and guards it.

    When the zygote or the controller ends, every descendant is killed. Standard input is the controller's lifeline: it
    writes `ORDERLY` and closes it when it will clean up by itself. If the lifeline closes without `ORDERLY`, the
    controller was killed, and its folder `scratch` is removed here.
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
    # Wait until the zygote or the controller ends.
    ready = dict(poll.poll())
    orphaned = 0 in ready and os.read(0, 1) != ORDERLY
    end_children()
    if orphaned:
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(0)
