"""What stands between the code under test and the machine, in words: a report says it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fuzz_core.execution.docker import Engine, Sandbox
from fuzz_core.execution.scratch import remove

FILE = "protection.txt"
LINES = 20
LINE = 500
_ASKED = "from fuzz_core.worker.limits import cut_network; print(cut_network())"
_NETWORKS = {
    "namespace": "no network: each worker has a network namespace of its own",
    "python": "network: refused in Python alone, as this user may make no network namespace; native code can connect",
}


def process_protection(reason: str = "") -> tuple[str, ...]:
    """The lines for workers that are plain processes. reason: why they are not in a container."""
    ran = subprocess.run([sys.executable, "-P", "-c", _ASKED], capture_output=True, text=True, check=False)
    why = f" ({reason})" if reason else ""
    return (
        f"no container{why}: workers are processes of this user, who can read and write what the user can",
        "limits on memory, size of files, open files and processes; an environment without tokens; an empty directory",
        _NETWORKS.get(ran.stdout.strip(), "network: as for any other process"),
    )


def container_protection(engine: Engine, sandbox: Sandbox) -> tuple[str, ...]:
    """The lines for a container."""
    gpus = "no GPU" if sandbox.gpus is None else f"GPUs: {', '.join(sandbox.gpus) or 'all'}"
    seccomp = f"seccomp profile `{engine.seccomp}`" if engine.seccomp else "no seccomp filter: this engine has none on"
    version = engine.info.get("ServerVersion", "")
    return (
        f"Docker {version}: one container without network, read-only but for the state directory and /tmp",
        f"user {sandbox.user}, no capabilities, no new privileges, {seccomp}",
        f"{', '.join(_limits(engine.info, sandbox))}, {gpus}",
        f"read-only inside: {len(sandbox.shown)} folders or files of the machine; {len(sandbox.hidden)} hidden in them",
    )


def _limits(info: Mapping[str, Any], sandbox: Sandbox) -> Iterator[str]:
    """Those that are set; an engine ignores what its kernel cannot do."""
    memory = f"at most {sandbox.memory / 2**30:.1f} GiB of memory"
    if not info.get("MemoryLimit"):
        yield "no limit on memory: this kernel has none"
    else:
        yield f"{memory} without swap" if info.get("SwapLimit") else f"{memory} and as much swap"
    yield f"{sandbox.processes} processes" if info.get("PidsLimit") else "no limit on processes: this kernel has none"
    if sandbox.cpus is not None:
        yield f"{sandbox.cpus:g} CPUs"


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
    return tuple(line[:LINE] for line in text.splitlines()[:LINES])
