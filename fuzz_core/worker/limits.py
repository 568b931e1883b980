"""What a forked process may use. Applied once, before any foreign code runs in it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

FILE_BYTES = 256 << 20
OPEN_FILES = 512
SHARED_MEMORY_BYTES = 1 << 30
_CLONE_NEWNS = 0x00020000
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWNET = 0x40000000
_MS_REC_PRIVATE = 0x4000 | 0x40000
_PR_SET_PDEATHSIG = 1


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


def private_shared_memory() -> bool:
    """Shared memory of our own, where the kernel allows it: bounded, and gone with the last process that uses it.

    Else what a killed process had in /dev/shm stays there. Returns whether it is our own.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS | _CLONE_NEWIPC) != 0:
        return False
    # Private first: a mount would else show outside.
    if libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC_PRIVATE), None) != 0:
        return False
    size = f"mode=1777,size={SHARED_MEMORY_BYTES}".encode()
    return bool(libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", ctypes.c_ulong(0), size) == 0)


def redirect(output: int) -> None:
    """Standard input from nowhere, standard output and error to a file of our own."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    for source, standard in ((nowhere, 0), (output, 1), (output, 2)):
        os.dup2(source, standard)
    os.close(nowhere)


def own_output(size: int = 1 << 16) -> str:
    """The end of what this process and its children have printed, `size` bytes at most."""
    try:
        with Path("/proc/self/fd/2").open("rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - size, 0))
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""


def raise_descriptors(descriptors: Sequence[int], base: int = 200) -> list[int]:
    """Moves descriptors to high numbers, out of the way of libraries that close or reuse low ones."""
    moved = []
    for offset, descriptor in enumerate(descriptors):
        os.dup2(descriptor, base + offset)
        os.close(descriptor)
        moved.append(base + offset)
    return moved
