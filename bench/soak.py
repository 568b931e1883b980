"""A long run, watched from outside: is the controller's memory flat, and are all processes and files removed?"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.harness import Measurement
from bench.trial import PROC, children, memory

PERIOD_SECONDS = 10.0
SETTLED_SECONDS = 600.0
MOST_GROWTH = 0.05
SHARED_MEMORY = Path("/dev/shm")


def descendants(pid: int) -> Iterator[int]:
    """Yield all processes below a process."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def is_zombie(pid: int) -> bool:
    """Return whether a process has ended and its parent has not asked how."""
    with suppress(OSError):
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return False


def watch(process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    """Take samples until the process ends.

    A zombie counts if two samples in a row see it: a death is one briefly.
    """
    began = time.monotonic()
    samples: list[dict[str, Any]] = []
    before: set[int] = set()
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(PERIOD_SECONDS)
        zombies = {pid for pid in descendants(process.pid) if is_zombie(pid)}
        if found := memory(process.pid):
            samples.append({"seconds": time.monotonic() - began, "zombies": len(zombies & before), **found})
        before = zombies
    return samples


def growth(samples: list[dict[str, Any]]) -> float | None:
    """Return the growth of the controller's memory from its tenth minute to its end, by medians of a minute."""
    settled = [sample["VmRSS"] for sample in samples if sample["seconds"] >= SETTLED_SECONDS]
    span = int(60 / PERIOD_SECONDS)
    if len(settled) < 2 * span:
        return None
    return float(statistics.median(settled[-span:]) / statistics.median(settled[:span]) - 1)


def measure(
    target: Annotated[str, typer.Option(help="Name of a build in the state")],
    state: Annotated[Path, typer.Option(help="State directory with recorded calls; the measurement uses a copy")],
    duration: Annotated[str, typer.Option("--time", help="Time limit: 45m, 90s, 1h30m")] = "60m",
    workers: Annotated[int, typer.Option(help="Number of worker processes")] = 2,
    seed: Annotated[int, typer.Option(help="Random seed of the run")] = 1,
) -> Measurement:
    """Watch a run from outside.

    Exit code 1: memory grew, or a process, a file or shared memory stayed behind.
    """
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        shutil.copytree(state, folder / "state")
        place = folder / "tmp"
        place.mkdir()
        shared = set(SHARED_MEMORY.iterdir())
        options = ["--target", target, "--state", folder / "state", "--time", duration, "--workers", workers]
        command = [sys.executable, "-m", "fuzz_core.cli", "fuzz", *map(str, options), "--seed", str(seed), "--json"]
        process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(place)}, stdout=subprocess.PIPE)
        samples = watch(process)
        assert process.stdout is not None
        fuzzed = json.loads(process.stdout.read() or "{}").get("fuzz", {})
        figures = {
            "exit code": process.returncode,
            "growth of memory": growth(samples),
            "peak memory, MB": max(sample["VmHWM"] for sample in samples) >> 20,
            "zombies": max(sample["zombies"] for sample in samples),
            "files left": [path.name for path in place.iterdir()],
            "left in shared memory": [path.name for path in set(SHARED_MEMORY.iterdir()) - shared],
            **{name: fuzzed.get(name) for name in ("tests", "rate", "deaths")},
        }
    is_clean = not any(figures[name] for name in ("exit code", "zombies", "files left", "left in shared memory"))
    rows = [{"figure": name, "value": value} for name, value in figures.items()]
    return Measurement(rows, {"samples": samples}, is_clean and (figures["growth of memory"] or 0) < MOST_GROWTH)
