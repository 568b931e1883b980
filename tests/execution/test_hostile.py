"""Tests that a hostile test leaves no process or file behind, and that the next test runs in a sound process."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fakelib_plans import Listening, call, plan_of

from fuzz_core.execution.link import KEPT_BYTES, TAIL_BYTES, Output
from fuzz_core.execution.pool import Lease, Limits, Pool
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.wire import OutcomeReport, Report
from fuzz_core.worker.limits import children
from fuzz_core.worker.zygote import FUZZ_FILE_BYTES

ROW, EMPTY = np.ones((2, 3)), np.ones((2, 0))
LIMITS = Limits(timeout=20.0, disk=32 << 20)
# Outcomes that the hostile test itself may have: none is the library's crash, and none hangs.
WAYS = {
    "flood": {("ok", "")},
    "copy": {("ok", "")},
    "leave": {("ok", "")},
    "hold": {("exit", "3")},
    "wander": {("ok", "")},
    "shut": {("ok", "")},
    "handle": {("ok", "")},
    "spin": {("ok", ""), ("exception", "RuntimeError")},
    "tamper": {("ok", ""), ("exit", "70")},
    "parricide": {("signal", "SIGKILL")},
    "fill": {("ok", ""), ("oom", "disk")},
    "share": {("ok", "")},
    "lie": {("ok", "")},
}
# The effect of these tests ends with the test. Closed descriptors are seen only by comparison with a settled spare
# worker.
HARMLESS = ("flood", "share", "lie", "shut")


class Hearing(Listening):
    """A listener that counts how often each test reports its outcome."""

    def __init__(self, *leases: tuple[str, int, int]) -> None:
        super().__init__(*leases)
        self.times: Counter[tuple[str, int]] = Counter()

    def message(self, lease: Lease, report: Report | None) -> None:
        """Count a test's outcome."""
        if isinstance(report, OutcomeReport):
            self.times[lease.api, report.ran] += 1
        super().message(lease, report)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def zygote(place: Path) -> Iterator[Zygote]:
    calls = [call(f"hostile.{way}", how) for way in WAYS for how in (1, -1, 2)]
    plan = plan_of(place / "plan", [*calls, call("row_sum", ROW), call("row_sum", EMPTY)], library="hostilelib")
    with pytest.MonkeyPatch.context() as patch:
        (place / "tmp").mkdir()
        patch.setattr(tempfile, "tempdir", str(place / "tmp"))
        with Zygote(sys.executable, "hostilelib", "fuzz", plan) as running:
            yield running
    assert list((place / "tmp").iterdir()) == []


def living_in(place: Path) -> set[int]:
    """Return the processes (zombies too) that were started with their home below a folder."""
    found = set()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"HOME={place}".encode() in environment.read_bytes():
                found.add(int(environment.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("way", WAYS)
def test_the_next_test_runs_in_a_sound_process_and_nothing_is_left(way: str, zygote: Zygote, place: Path) -> None:
    api = f"fakelib.hostile.{way}"
    told = Hearing((api, 0, 3), ("fakelib.row_sum", 0, 2))
    pool = Pool(zygote, 1, LIMITS)
    pool.run(told, lambda: False, lambda: None)
    seen = {index: (o.kind, o.name) for (name, index), o in (told.ran | told.deaths).items() if name == api}
    assert seen[0] == seen[2] == ("ok", "")
    assert seen[1] in WAYS[way]
    # A crash is reported as a crash, even if the test before it changed the signal handlers.
    assert {o.kind for (name, _), o in told.ran.items() if name == "fakelib.row_sum"} == {"ok"}
    assert told.deaths["fakelib.row_sum", 1].name == "SIGSEGV"
    assert not told.findings or way == "lie"
    # If a worker was copied, the pool listens to one copy alone. Work runs again once if its worker was killed, or
    # ended by our own code's error.
    again = {(api, 1)} if way in ("parricide", "tamper") else set()
    assert {test for test, times in told.times.items() if times != 1} <= again
    assert max(told.times.values()) <= 2
    assert pool.restarts > 1 or way in HARMLESS or seen[1][0] == "exception"
    assert zygote.process is not None
    assert living_in(place) == {zygote.process.pid, zygote.pid}
    assert children(zygote.pid) == []
    assert {path.name for path in zygote.root.iterdir()} == {"owner.lock", "zygote.log"}
    if zygote.ready["shared_memory"]:
        assert not list(Path("/dev/shm").glob("hostilelib-*"))


def test_what_is_printed_is_bounded_on_disk(zygote: Zygote) -> None:
    pool = Pool(zygote, 1, LIMITS)
    seen: list[tuple[int, bytes]] = []

    def look() -> None:
        if (child := pool.slots[0].child) is not None:
            seen.append((os.fstat(child.output.descriptor).st_size, child.output.said))

    told = Listening(("fakelib.hostile.flood", 1, 2))
    pool.run(told, lambda: False, look)
    assert told.ran
    assert max(size for size, _ in seen) <= FUZZ_FILE_BYTES
    assert any(said for _, said in seen)


def test_output_is_cut_and_its_end_is_kept(tmp_path: Path) -> None:
    output = Output(tmp_path / "output")
    assert list(tmp_path.iterdir()) == []
    for line in (b"a" * KEPT_BYTES, b"the last words", b""):
        os.write(output.descriptor, line)
    output.trim()
    assert os.fstat(output.descriptor).st_size == 0
    os.write(output.descriptor, b", and more \xff")
    output.trim()
    assert output.text().endswith("aaa" + "the last words, and more \N{REPLACEMENT CHARACTER}")
    assert len(output.text()) <= TAIL_BYTES
    output.close()
