"""What Python was at in a process that died, or that is about to be ended: it writes that down by itself."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import stat
import time
from typing import NamedTuple

from fuzz_core.execution.link import Link
from fuzz_core.worker.programs import STACK_FILE, STACK_SIGNAL
from fuzz_core.worker.programs_raised import PROGRAM
from fuzz_core.worker.programs_ran import MOST_FRAMES

# A process that runs native code answers at once as well: its signal handler does.
ASKED_SECONDS = 0.2
POLL_SECONDS = 0.005
MOST_BYTES = 1 << 16
_FRAME = re.compile(r'^  File "([^"\n]{1,1000})", line (\d{1,9}) in (\S{1,500})$', re.MULTILINE)


class Stack(NamedTuple):
    """The deepest line of the program, 0 where none is known, and the library's frames below it, innermost first."""

    line: int = 0
    frames: tuple[str, ...] = ()


def asked(child: Link) -> None:
    """Has a process that runs programs write its stack; any other one dies of the signal, and is about to anyway."""
    before = len(_written(child))
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(child.pidfd, STACK_SIGNAL)
    deadline = time.monotonic() + ASKED_SECONDS
    while time.monotonic() < deadline and len(_written(child)) == before:
        if select.select([child.pidfd], [], [], POLL_SECONDS)[0]:
            return


def stack_of(child: Link) -> Stack:
    """The stack that a process has left in its folder. Raises nothing: the file is untrusted code's."""
    frames: list[str] = []
    for file, line, name in _FRAME.findall(_written(child).decode("utf-8", "replace")):
        if file == PROGRAM:
            return Stack(int(line), tuple(frames))
        frames = [*frames, f"{name} ({file}:{line})"][:MOST_FRAMES]
    return Stack()


def _written(child: Link) -> bytes:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(child.directory / STACK_FILE, flags)
    except OSError:
        return b""
    try:
        return os.read(descriptor, MOST_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)
