"""A run of the engine in a process of its own, watched: it reads options as JSON and prints figures as JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.listener import FuzzListener, FuzzReport
from fuzz_core.campaign.session import Session
from fuzz_core.execution.pool import Lease
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.outcome import Outcome
from fuzz_core.store.statefile import open_store

PERIOD_SECONDS = 0.1
PROC = Path("/proc")
FORKING = ("order", "deliver", "reap")
MEMORY = ("VmRSS", "VmHWM")


def memory(pid: int) -> dict[str, int]:
    """Return resident and peak memory of a process in bytes; empty if it has ended."""
    with suppress(OSError):
        lines = (PROC / str(pid) / "status").read_text().splitlines()
        return {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines if line.startswith(MEMORY)}
    return {}


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found: list[int] = []
    for task in (PROC / str(pid) / "task").glob("*"):
        with suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


class Watcher(threading.Thread):
    """A thread that notes the peak memory of workers, pins a single worker, and counts what forks and deaths cost.

    The thread wraps methods of the engine, so a process has one watcher.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.peak = 0  # bytes
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.counts: Counter[str] = Counter()
        self.pinned: set[int] = set()
        cores = sorted(os.sched_getaffinity(0))
        # A single worker gets the last core for itself, and the controller the remaining cores.
        self.core = cores[-1] if workers == 1 and len(cores) > 1 else None
        if self.core is not None:
            os.sched_setaffinity(0, set(cores[:-1]))
        for method in FORKING:
            setattr(Zygote, method, self._clocked(method, getattr(Zygote, method)))
        original = FuzzListener.death

        def death(listener: FuzzListener, lease: Lease, index: int, outcome: Outcome) -> None:
            self.counts[outcome.kind] += 1
            self.seconds[outcome.kind] += outcome.seconds
            original(listener, lease, index, outcome)

        setattr(FuzzListener, "death", death)  # noqa: B010 - mypy knows no other way

    def _clocked(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def clocked(*args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            try:
                return original(*args, **kwargs)
            finally:
                self.seconds[name] += time.monotonic() - began
                self.counts[name] += 1

        return clocked

    def run(self) -> None:
        """Look at the processes ten times a second until `over`."""
        while not self.over.wait(PERIOD_SECONDS):
            for zygote in children(os.getpid()):
                self._pin(zygote)
                for worker in children(zygote):
                    self.peak = max(self.peak, memory(worker).get("VmHWM", 0))

    def _pin(self, zygote: int) -> None:
        """Pin a zygote while it still imports: what it forks inherits the core."""
        if self.core is not None and zygote not in self.pinned:
            self.pinned.add(zygote)
            with suppress(OSError):
                for task in (PROC / str(zygote) / "task").glob("*"):
                    os.sched_setaffinity(int(task.name), {self.core})


def run(given: dict[str, Any]) -> dict[str, Any]:
    """Fuzz with the options and return the figures, memory in MB."""
    path, workers = Path(given["state"]), given["workers"]
    watcher = Watcher(workers)
    watcher.start()
    with open_store(path) as store:
        session = Session(store, store.target(given["target"]), path.parent, workers)
        began = time.monotonic()
        report = fuzz(session, FuzzOptions(oracles=("crash",), **given["options"]))
        wall = time.monotonic() - began
    watcher.over.set()
    watcher.join()
    return {
        **_figures(report, workers),
        "start_up": round(wall - report.seconds, 2),
        "restarts": watcher.counts["order"],
        "forking": round(sum(watcher.seconds[method] for method in FORKING), 2),
        "hangs": watcher.counts["timeout"],
        "hanging": round(watcher.seconds["timeout"], 2),
        "worker_memory": watcher.peak >> 20,
        "controller_memory": memory(os.getpid())["VmHWM"] >> 20,
        "pinned": watcher.core is not None,
    }


def _figures(report: FuzzReport, workers: int) -> dict[str, Any]:
    """Return rates per second of wall time, and shares of executed tests (`unique`: of those made)."""
    executed = sum(count for kind, count in report.outcomes.items() if kind != "duplicate")
    ok, repeated = report.outcomes["ok"], report.outcomes["duplicate"]
    available = report.seconds * workers
    return {
        "seconds": round(report.seconds, 2),
        "tests": report.tests,
        "rate": report.tests / report.seconds,
        "unique": executed / max(executed + repeated, 1),
        "valid": ok / max(executed, 1),
        "unique_valid_rate": ok / report.seconds,
        "inside": report.inside / available,
        "lost": max(available - report.working, 0.0) / available,
        "deaths": report.deaths,
        "outcomes": dict(report.outcomes),
        "classes": report.classes,
        "operators": report.operators,
        "growth": report.growth,
    }


if __name__ == "__main__":
    print(json.dumps(run(json.load(sys.stdin))))
