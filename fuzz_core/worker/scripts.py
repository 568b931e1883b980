"""Execution of a bug's script in a fork of a process that has only imported the library."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from fuzz_core.worker.limits import FIRST_DESCRIPTOR, die_with_parent
from fuzz_core.worker.observers import garbage
from fuzz_core.worker.stack import SignalHandler, is_supported, stack_of

SCRIPT_NAME = "repro.py"
# Bytes of standard error that are kept: half from its begin, half from its end.
KEPT_BYTES = 1 << 16
_DESCRIPTORS = 4


def run_script(source: str, byte: int, traced: bool) -> dict[str, Any]:
    """Run a script as the main program of a forked process.

    Args:
        source: the text of the script.
        byte: fills memory that no code has written to, so that runs differ there as fresh processes do.
        traced: whether to follow the native stack if a signal ends the script.

    Returns:
        `status`: the exit status, negative for a signal. `stderr`: text. `frames`: of the stack, as `worker.stack`
        tells them; None without a stack.
    """
    Path(SCRIPT_NAME).write_text(source, encoding="utf-8")
    stderr = os.memfd_create("stderr")
    watch = SignalHandler() if traced and is_supported() else None
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        die_with_parent(parent)
        os.closerange(FIRST_DESCRIPTOR, FIRST_DESCRIPTOR + _DESCRIPTORS)
        os.dup2(stderr, 2)
        os.close(stderr)
        if watch is not None:
            watch.install()
        with garbage(byte):
            _execute(source)
    status, frames = os.waitpid(pid, os.WUNTRACED)[1], None
    if os.WIFSTOPPED(status):
        number = (watch.signal() if watch is not None else 0) or os.WSTOPSIG(status)
        frames = None if watch is None else stack_of(watch, pid)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return {"status": -number, "stderr": _written(stderr), "frames": frames}
    return {"status": os.waitstatus_to_exitcode(status), "stderr": _written(stderr), "frames": None}


def _execute(source: str) -> NoReturn:
    """End the process as Python ends a program.

    Exit handlers do not run: they belong to the parent process.
    """
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = SCRIPT_NAME
    sys.argv = [SCRIPT_NAME]
    # A fresh process seeds its random streams by chance.
    random.seed()
    np.random.seed()
    code: object = 0
    try:
        exec(compile(source, SCRIPT_NAME, "exec"), vars(main))
    except SystemExit as end:
        code = end.code
    except BaseException as error:  # noqa: BLE001 - what a script raises is printed
        code, trace = 1, error.__traceback__
        # The trace loses the frame of this function, which no other program has.
        error.__traceback__ = trace and trace.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    sys.stderr.flush()
    os._exit(code or 0)


def _written(descriptor: int) -> str:
    """Return the begin and the end of a file, and close it."""
    size, half = os.fstat(descriptor).st_size, KEPT_BYTES // 2
    if size <= KEPT_BYTES:
        data = os.pread(descriptor, KEPT_BYTES, 0)
    else:
        data = os.pread(descriptor, half, 0) + b"\n...\n" + os.pread(descriptor, half, size - half)
    os.close(descriptor)
    return data.decode("utf-8", "replace")
