"""What stands between the code under test and the machine, in words, kept with the state for the report of a run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz_core.execution.scratch import remove

# The file in which a state keeps what was on in its last run.
FILE = "protection.txt"
LINES, LINE_LENGTH = 20, 500
_ASKED = "from fuzz_core.worker.limits import cut_network; print(cut_network())"
_NETWORKS = {
    "namespace": "no network: each worker has a network namespace of its own",
    "python": "network: refused in Python alone, as this user may make no network namespace; native code can connect",
}


def process_protection(reason: str = "") -> tuple[str, ...]:
    """The lines for workers that are plain processes. reason: why they are not in a container."""
    ran = subprocess.run([sys.executable, "-P", "-c", _ASKED], capture_output=True, text=True)
    why = f" ({reason})" if reason else ""
    return (
        f"no container{why}: workers are processes of this user, who can read and write what the user can",
        "limits on memory, size of files, open files and processes; an environment without tokens; an empty directory",
        _NETWORKS.get(ran.stdout.strip(), "network: as for any other process"),
    )


def write_protection(state: Path, lines: Sequence[str]) -> None:
    """Keeps the lines with the state, for the report of the run; none where workers were plain processes."""
    path = state / FILE
    if path.is_dir() and not path.is_symlink():
        remove(path)
    path.unlink(missing_ok=True)
    if lines:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_protection(state: Path) -> tuple[str, ...]:
    """What was on in the last run on this state."""
    try:
        text = state.joinpath(FILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return process_protection()
    return tuple(line[:LINE_LENGTH] for line in text.splitlines()[:LINES])
