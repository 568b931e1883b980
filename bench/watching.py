"""What a run cannot tell of itself: peak memory of its processes, pinning, and what deaths cost."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz_core.campaign.listener import FuzzListener
from fuzz_core.execution.pool import Lease
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.outcome import Outcome

PERIOD = 0.1
PROC = Path("/proc")
FORKING = ("order", "deliver", "reap")


def peak(pid: int) -> int:
    """Peak resident memory of a process in bytes (0 where it is gone)."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found: list[int] = []
    for task in (PROC / str(pid) / "task").glob("*"):
        with contextlib.suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def pin(workers: int) -> set[int] | None:
    """One worker gets the last core for itself and the controller the others; None where that cannot be."""
    cores = sorted(os.sched_getaffinity(0))
    if workers != 1 or len(cores) < 2:
        return None
    os.sched_setaffinity(0, set(cores[:-1]))
    return {cores[-1]}


class Watcher(threading.Thread):
    """Looks at the run's processes ten times a second, and keeps what forks and deaths cost."""

    def __init__(self, workers: int) -> None:
        super().__init__(daemon=True)
        self.cores = pin(workers)
        self.over = threading.Event()
        self.memory: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.counts: Counter[str] = Counter()
        self.pinned: set[int] = set()

    def run(self) -> None:
        """Until `over`."""
        while not self.over.wait(PERIOD):
            for zygote in children(os.getpid()):
                self._pin(zygote)
                for worker in children(zygote):
                    self.memory["worker"] = max(self.memory["worker"], peak(worker))

    def _pin(self, zygote: int) -> None:
        """While it still imports: what it forks inherits the core."""
        if self.cores is not None and zygote not in self.pinned:
            self.pinned.add(zygote)
            with contextlib.suppress(OSError):
                for task in (PROC / str(zygote) / "task").glob("*"):
                    os.sched_setaffinity(int(task.name), self.cores)

    def clock(self, owner: type, method: str) -> None:
        """Clocks a method of a class."""
        original = getattr(owner, method)

        def clocked(*args: Any, **kwargs: Any) -> Any:
            began = time.monotonic()
            try:
                return original(*args, **kwargs)
            finally:
                self.seconds[method] += time.monotonic() - began
                self.counts[method] += 1

        setattr(owner, method, clocked)

    def deaths(self) -> None:
        """Keeps how long the last test of a worker took that died, by outcome."""
        original = FuzzListener.death

        def death(work: FuzzListener, lease: Lease, index: int, outcome: Outcome) -> None:
            self.counts[outcome.kind] += 1
            self.seconds[outcome.kind] += outcome.seconds
            original(work, lease, index, outcome)

        setattr(FuzzListener, "death", death)  # noqa: B010 - mypy knows no other way


@contextlib.contextmanager
def watched(workers: int) -> Iterator[Watcher]:
    """Watches everything that this process does, once per process."""
    watcher = Watcher(workers)
    for method in FORKING:
        watcher.clock(Zygote, method)
    watcher.deaths()
    watcher.start()
    try:
        yield watcher
    finally:
        watcher.over.set()
        watcher.join()
        watcher.memory["controller"] = peak(os.getpid())
