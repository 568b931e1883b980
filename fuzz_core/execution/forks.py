"""Zygotes that threads share, and scripts in forks of a zygote that has imported the library and executed no test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fuzz_core.execution.zygote import MEMORY_BYTES, Job, JobResult, Zygote, run_jobs
from fuzz_core.ir.errors import CodecError, Interrupted
from fuzz_core.ir.wire import decode
from fuzz_core.worker.observers import GARBAGE

FUZZ, SCRIPT = ROLES = ("fuzz", "script")


class ForkEnd(NamedTuple):
    """The end of a script in a fork."""

    status: int | None  # exit status, negative for a signal; None if its time was over
    stderr: str = ""
    # (function, module) of its native stack, innermost first; None if the stack is not known.
    frames: tuple[tuple[str, str], ...] | None = None


class Zygotes:
    """The zygotes of one build, each started when it is asked for first.

    Threads share them.

    Args:
        plan: for processes that replay test cases.
    """

    def __init__(self, python: str, library: str, plan: Path | None, stopped: Callable[[], bool]) -> None:
        start = partial(Zygote, python, library)
        self._start = {
            FUZZ: partial(start, role=FUZZ, plan=plan, stopped=stopped),
            SCRIPT: partial(start, role=SCRIPT, stopped=stopped),
        }
        self._locks = {role: threading.Lock() for role in self._start}
        self._made: dict[str, Zygote] = {}
        self._closed = False

    def of(self, role: str) -> Zygote:
        """Return the zygote of a role: `fuzz` or `script`.

        Raises:
            ZygoteError: the zygote does not start.
            Interrupted: `close` was called.
        """
        with self._locks[role]:
            if self._closed:
                raise Interrupted("stopped before a process was forked")
            if role not in self._made:
                self._made[role] = self._start[role]()
            return self._made[role]

    def run(self, script: str, seconds: float, number: int = 0, traced: bool = False) -> ForkEnd:
        """Run a script in a fork and return how it ended.

        Args:
            script: the text.
            seconds: its time limit.
            number: which run of the script this is: what is in unwritten memory changes with it.
            traced: whether its native stack is wanted.
        """
        request = {"script": script, "byte": GARBAGE[number % len(GARBAGE)], "traced": traced}
        [result] = run_jobs(self.of(SCRIPT), [Job("script", request, seconds)], memory=2 * MEMORY_BYTES)
        return _read(result)

    def close(self) -> None:
        """End all zygotes and what they have forked.

        None starts afterwards.
        """
        self._closed = True
        for role, lock in self._locks.items():
            with lock:
                if role in self._made:
                    self._made[role].close()


def _read(result: JobResult) -> ForkEnd:
    if result.outcome.kind == "timeout":
        return ForkEnd(None)
    try:
        return decode(ForkEnd, result.messages[-1])
    except (CodecError, IndexError):
        # The script has ended the process that waits for it.
        return ForkEnd(1, result.outcome.text)
