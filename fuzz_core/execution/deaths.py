"""From a wait status and the last words on standard error to an outcome."""

from __future__ import annotations

import os
import signal

from fuzz_core.ir.outcome import Outcome


def outcome_of(status: int, text: str) -> Outcome:
    """Outcome of a process by its wait status; `text` is the end of what it printed."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        return Outcome("signal", name, text)
    return Outcome("exit", str(os.WEXITSTATUS(status)), text)


def killed(status: int) -> bool:
    """Whether a process was killed from outside: no library sends SIGKILL by itself, and no crash is one."""
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
