"""What a library may do to the process it runs in: every function behaves as long as `how` is not negative.

Not part of `fakelib` as it is fuzzed for its planted bugs: the library `hostilelib` lists these beside a few of those.
None of them is a finding; what they do must neither end the run nor be taken for a bug of another function.

| function | what it does |
|---|---|
| `flood` | prints two gigabytes |
| `copy` | forks, and returns in both processes |
| `leave` | starts processes in sessions of their own, one of them an orphan, and leaves them |
| `hold` | leaves a process that holds the worker's pipes, and dies |
| `wander` | changes the directory and the file mode mask |
| `shut` | closes the descriptors 0 to 10 |
| `handle` | handles or ignores signals, and blocks them all |
| `spin` | leaves 40 threads running |
| `tamper` | puts other functions in the place of the standard library's |
| `parricide` | kills its parent |
| `fill` | fills its temporary directory |
| `share` | leaves shared memory behind |
| `lie` | writes false reports on every descriptor |
"""

from __future__ import annotations

import builtins
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing import shared_memory
from pathlib import Path

__all__ = [
    "copy",
    "fill",
    "flood",
    "handle",
    "hold",
    "leave",
    "lie",
    "parricide",
    "share",
    "shut",
    "spin",
    "tamper",
    "wander",
]

MEGABYTE = b"words, words, words" * 55189


def flood(how: int) -> int:
    """Talks for long.

    >>> import fakelib.hostile
    >>> fakelib.hostile.flood(2)
    """
    for _ in range(1000 if how < 0 else 0):
        for descriptor in (1, 2):
            with suppress(OSError):
                os.write(descriptor, MEGABYTE)
    return how


def copy(how: int) -> int:
    """Goes on twice.

    >>> import fakelib.hostile
    >>> fakelib.hostile.copy(2)
    """
    if how < 0:
        os.fork()
    return how


def leave(how: int) -> int:
    """Goes on without its children.

    >>> import fakelib.hostile
    >>> fakelib.hostile.leave(2)
    """
    if how < 0:
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        subprocess.run(["sh", "-c", "setsid sleep 1000 &"], check=True)
    return how


def hold(how: int) -> int:
    """Dies, and leaves somebody who keeps what was its own.

    >>> import fakelib.hostile
    >>> fakelib.hostile.hold(2)
    """
    if how < 0:
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
        os._exit(3)
    return how


def wander(how: int) -> int:
    """Goes elsewhere.

    >>> import fakelib.hostile
    >>> fakelib.hostile.wander(2)
    """
    if how < 0:
        os.chdir("/")
        os.umask(0o777)
    return how


def shut(how: int) -> int:
    """Closes what others opened.

    >>> import fakelib.hostile
    >>> fakelib.hostile.shut(2)
    """
    if how < 0:
        os.closerange(0, 11)
    return how


def handle(how: int) -> int:
    """Does not want to be disturbed.

    >>> import fakelib.hostile
    >>> fakelib.hostile.handle(2)
    """
    if how < 0:
        for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGALRM):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    return how


def spin(how: int) -> int:
    """Begins much.

    >>> import fakelib.hostile
    >>> fakelib.hostile.spin(2)
    """
    for _ in range(40 if how < 0 else 0):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    return how


def tamper(how: int) -> int:
    """Improves what it finds.

    >>> import fakelib.hostile
    >>> fakelib.hostile.tamper(2)
    """

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("improved")

    if how < 0:
        # From outside nothing of the sort is typed.
        for module, names in (
            (time, ("time", "monotonic", "perf_counter")),
            (json, ("dumps", "loads")),
            (os, ("write", "read", "_exit", "getpid")),
            (builtins, ("open", "print", "hash")),
        ):
            for name in names:
                setattr(module, name, broken)
        sys.stdout = None
    return how


def parricide(how: int) -> int:
    """Wants to be alone.

    >>> import fakelib.hostile
    >>> fakelib.hostile.parricide(2)
    """
    if how < 0:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(1000)
    return how


def fill(how: int) -> int:
    """Write much down.

    >>> import fakelib.hostile
    >>> fakelib.hostile.fill(2)
    """
    with suppress(OSError):
        for number in range(100 if how < 0 else 0):
            (Path(tempfile.gettempdir()) / f"page-{number}").write_bytes(MEGABYTE)
    return how


def share(how: int) -> int:
    """Leaves something for others.

    >>> import fakelib.hostile
    >>> fakelib.hostile.share(2)
    """
    if how < 0:
        shared_memory.SharedMemory(f"hostilelib-{os.getpid()}", create=True, size=1 << 20)
    return how


def lie(how: int) -> int:
    """Says what is not so.

    >>> import fakelib.hostile
    >>> fakelib.hostile.lie(2)
    """
    claim = {"test": ["x"], "verdict": ["crash", "crash", ""], "outcome": ["signal"]}
    text = b"\n" + b"\n".join(json.dumps(each).encode() for each in (claim, {"done": 0, "next": -5}, {"shown": [[]]}))
    for descriptor in range(3, 301) if how < 0 else ():
        with suppress(OSError):
            os.write(descriptor, text + b"\n\x00\xff" + b"[" * 5000 + b"\n")
    return how
