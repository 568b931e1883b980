"""The protection between the code under test and the machine, in words, kept with the state for the report of a run."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fuzz_core.execution.scratch import remove
from fuzz_core.worker.confinement import LANDLOCK, NAMESPACE, VARIABLE, confined

# The file in which a state keeps what was on in its last run.
FILE = "protection.txt"
LINES, LINE_LENGTH = 20, 500
FILES = {
    (): "files: workers can read and write all files of the user, because this kernel has no mount namespace for this "
    "user and no Landlock",
    (LANDLOCK,): "files: Landlock limits writes to the workers' own folders; workers can read all files of the user",
    (
        NAMESPACE,
    ): "files: a mount namespace makes all files read-only, except in the workers' own folders and a private /tmp",
    (
        NAMESPACE,
        LANDLOCK,
    ): "files: a mount namespace and Landlock make all files read-only, except in the workers' own folders and "
    "a private /tmp",
}
_NETWORKS = {
    True: "no network: each process has its own network namespace",
    False: "network: blocked in Python only, as this user cannot make a network namespace; native code can connect",
}


def means_here() -> tuple[str, ...]:
    """Return the means of confinement that work for this user on this machine."""
    asked = [sys.executable, "-I", "-S", "-c", f"import os; print(os.environ[{VARIABLE!r}])"]
    with tempfile.TemporaryDirectory(prefix="nightfuzz-") as folder:
        said = subprocess.run(confined(asked, [folder]), capture_output=True, text=True, cwd=folder).stdout
    return tuple(filter(None, said.strip().split(",")))


def process_protection(reason: str = "") -> tuple[str, ...]:
    """Return the lines for workers that are plain processes.

    Args:
        reason: why they are not in a container.
    """
    means = means_here()
    why = f" ({reason})" if reason else ""
    return (
        f"no container{why}: workers are processes of this user",
        FILES[means],
        "limits on memory, size of files, open files and processes; an environment without tokens; an empty directory",
        _NETWORKS[NAMESPACE in means],
    )


def write_protection(state: Path, lines: Sequence[str]) -> None:
    """Keep the lines with the state, for the report of the run; none where workers were plain processes."""
    path = state / FILE
    if path.is_dir() and not path.is_symlink():
        remove(path)
    path.unlink(missing_ok=True)
    if lines:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_protection(state: Path) -> tuple[str, ...]:
    """Return the protection during the last run on this state."""
    try:
        text = state.joinpath(FILE).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return process_protection()
    return tuple(line[:LINE_LENGTH] for line in text.splitlines()[:LINES])
