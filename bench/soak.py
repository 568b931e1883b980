"""A long run, watched from outside: does the controller's memory stay flat, does anything stay behind (`make soak`)?"""

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
from rich.console import Console

from bench.machine import machine
from bench.watching import children

PERIOD_SECONDS = 10.0
SETTLED_SECONDS = 600.0
MOST_GROWTH = 0.05
SHARED_MEMORY = Path("/dev/shm")
STATUS = ("VmRSS", "VmHWM")


def memory(pid: int) -> dict[str, int]:
    """Resident and peak memory of a process in bytes; empty where it is gone."""
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines if line.startswith(STATUS)}
    return {}


def descendants(pid: int) -> Iterator[int]:
    """All processes below one."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def is_zombie(pid: int) -> bool:
    """Whether a process has ended and nobody has asked how."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return False


def watch(process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    """Samples until the process ends. zombies: those seen twice in a row, as any death is one for a moment."""
    began = time.monotonic()
    samples: list[dict[str, Any]] = []
    before: set[int] = set()
    while process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(PERIOD_SECONDS)
        zombies = {pid for pid in descendants(process.pid) if is_zombie(pid)}
        found = memory(process.pid)
        if found:
            samples.append({"seconds": time.monotonic() - began, "zombies": len(zombies & before), **found})
        before = zombies
    return samples


def growth(samples: list[dict[str, Any]]) -> float | None:
    """How much the controller's memory grew from its tenth minute to its end, as a share; medians of a minute."""
    settled = [sample["VmRSS"] for sample in samples if sample["seconds"] >= SETTLED_SECONDS]
    span = int(60 / PERIOD_SECONDS)
    if len(settled) < 2 * span:
        return None
    first, last = statistics.median(settled[:span]), statistics.median(settled[-span:])
    return float(last / first - 1)


def main(
    target: Annotated[str, typer.Option(help="Target on record in the state")],
    state: Annotated[Path, typer.Option(help="State directory with traced invocations; a copy is used")],
    duration: Annotated[str, typer.Option("--time", help="Time-box")] = "60m",
    workers: Annotated[int, typer.Option(help="Worker processes")] = 2,
    seed: Annotated[int, typer.Option(help="Seed of all randomness")] = 1,
) -> None:
    """Fuzzes for an hour and prints as JSON what a watcher saw; exit code 1 where something is not as it should."""
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
        seen = {
            "machine": machine(),
            "exit": process.returncode,
            "growth": growth(samples),
            "peak": max(sample["VmHWM"] for sample in samples),
            "zombies": max(sample["zombies"] for sample in samples),
            "left": [path.name for path in place.iterdir()],
            "left in shared memory": [path.name for path in set(SHARED_MEMORY.iterdir()) - shared],
            "tests": fuzzed.get("tests"),
            "rate": fuzzed.get("rate"),
            "deaths": fuzzed.get("deaths"),
        }
    Console().print_json(json.dumps(seen))
    flat = seen["growth"] is None or seen["growth"] < MOST_GROWTH
    clean = not (seen["exit"] or seen["zombies"] or seen["left"] or seen["left in shared memory"])
    raise typer.Exit(0 if flat and clean else 1)


if __name__ == "__main__":
    typer.run(main)
