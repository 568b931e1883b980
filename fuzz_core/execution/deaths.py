"""From a wait status and the last words on standard error to an outcome."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from fuzz_core.ir.outcome import Outcome

TAIL_BYTES = 4000


def outcome_of(status: int, output: Path) -> Outcome:
    """Outcome of a process by its wait status; `text` is the end of what it printed."""
    text = tail(output)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        return Outcome("signal", name, text)
    return Outcome("exit", str(os.WEXITSTATUS(status)), text)


def tail(output: Path) -> str:
    """The last 4,000 bytes of a file, readable whatever they are; empty for a missing file."""
    try:
        with output.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
