"""Tests of how compile time is measured from outside the process that compiles."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fuzz_core.execution.link import GLANCE_SECONDS, MOST_SECONDS, CompileClock, Stopwatch, lock_waiters

CHILD = (
    "import subprocess, sys; cat = subprocess.Popen('cat', stdin=subprocess.PIPE)\nprint(flush=True); sys.stdin.read()"
)
IDLE = "import sys; print(flush=True); sys.stdin.read()"
LOCKED = (
    "import fcntl, sys; file = open(sys.argv[1], 'r+'); print(flush=True)\n"
    "fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
)


@contextmanager
def process(code: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yields a Python process that has printed its first line."""
    command = [sys.executable, "-c", code, *arguments]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert started.stdout is not None
        started.stdout.readline()
        yield started
    finally:
        started.kill()
        started.communicate()


class Ticks:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def looks(compiling: CompileClock, ticks: Ticks, seconds: float, *pids: int, step: float = 0.125) -> None:
    """Looks at the processes again and again."""
    for _ in range(int(seconds / step)):
        ticks.now += step
        compiling.look(pids)


def test_time_with_a_child_is_excused_and_other_time_is_not() -> None:
    ticks = Ticks()
    compiling = CompileClock(True, ticks)
    with process(CHILD) as busy, process(IDLE) as idle:
        watches = [Stopwatch(compiling, each.pid, 0.0) for each in (busy, idle)]
        looks(compiling, ticks, 3.0, busy.pid, idle.pid)
    assert [each.seconds(3.0) for each in watches] == [0.0, 3.0]


def test_what_nobody_has_looked_at_is_excused() -> None:
    ticks = Ticks()
    compiling = CompileClock(True, ticks)
    with process(IDLE) as idle:
        looks(compiling, ticks, 1.0, idle.pid)
        ticks.now += 5.0
        compiling.look([idle.pid])
        # The clock first sees a test that began since its last look.
        assert Stopwatch(compiling, idle.pid, 6.0).seconds(6.0) == GLANCE_SECONDS - 5.0


def test_waiting_for_somebody_elses_lock_is_excused(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with path.open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        with process(LOCKED, str(path)) as blocked:
            while blocked.pid not in lock_waiters():
                pass
            ticks = Ticks()
            compiling = CompileClock(True, ticks)
            watch = Stopwatch(compiling, blocked.pid, 0.0)
            ticks.now = 5.0
            compiling.look([blocked.pid])
            assert watch.seconds(5.0) == 0.0
            fcntl.lockf(file, fcntl.LOCK_UN)
            assert blocked.stdout is not None
            blocked.stdout.readline()
            assert blocked.pid not in lock_waiters()


@pytest.mark.parametrize(("counted", "seconds"), [(True, MOST_SECONDS), (False, 0.0)])
def test_a_compiler_that_hangs_is_not_excused_for_ever(counted: bool, seconds: float) -> None:
    ticks = Ticks()
    compiling = CompileClock(counted, ticks)
    with process(CHILD) as busy:
        watch = Stopwatch(compiling, busy.pid, 0.0)
        ticks.now = 10 * MOST_SECONDS
        compiling.look([busy.pid])
    assert watch.seconds(ticks.now) == 10 * MOST_SECONDS - seconds
