"""Tests that a busy machine causes no timeouts: seconds without a processor do not count for a process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from fuzz_core.execution.link import MOST_WAITED, CompileClock, Stopwatch
from fuzz_core.triage import process
from fuzz_core.worker.limits import delayed

SPIN = "while True: pass"


@pytest.fixture
def crowd() -> Iterator[list[int]]:
    """Yields three processes that share one processor; the last process has a waiting parent."""
    last = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}])"
    before, pids = os.sched_getaffinity(0), []
    with ExitStack() as opened:
        os.sched_setaffinity(0, {min(before)})
        try:
            for code in (SPIN, SPIN, last):
                started = opened.enter_context(subprocess.Popen([sys.executable, "-c", code], start_new_session=True))
                opened.callback(os.killpg, started.pid, 9)
                pids.append(started.pid)
        finally:
            os.sched_setaffinity(0, before)
        yield pids


def test_the_kernel_says_how_long_a_process_and_its_children_have_waited(crowd: list[int]) -> None:
    while min(map(delayed, crowd)) < 0.2:
        time.sleep(0.01)
    assert delayed(2**22 + 1) == 0.0


def test_a_watch_does_not_count_seconds_without_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = iter([5.0, 7.0, 7.0, 500.0, 1.0])
    monkeypatch.setattr("fuzz_core.execution.link.delayed", lambda _: next(waited))
    watch = Stopwatch(CompileClock(False), 1, began=10.0)
    assert watch.seconds(10.1) == pytest.approx(0.1)
    assert watch.seconds(13.0) == 1.0
    assert watch.seconds(20.0) == 8.0
    # If a process has several waiting threads, some of the time still counts.
    assert watch.seconds(20.0) == pytest.approx(10.0 * (1 - MOST_WAITED))
    assert watch.seconds(20.0) == 10.0


def test_a_script_has_its_time_limit_of_its_own_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "delayed", lambda _: 60.0)
    script = "import time\ntime.sleep(0.5)\nprint('ended')"
    assert process.run([sys.executable, "x.py"], {"x.py": script}, 0.2).stdout == "ended\n"
    monkeypatch.setattr(process, "delayed", lambda _: 0.0)
    assert process.run([sys.executable, "x.py"], {"x.py": "import time\ntime.sleep(60)"}, 0.2).code is None
