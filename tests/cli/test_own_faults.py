"""Exceptions of nightfuzz's own code in a worker: each is counted and reported, and no finding is lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Done, run

from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

# Every 40th read of the library's state raises an error: of nightfuzz's own code, or brought about by the library. An
# error that comes once, and not in the fresh process that repeats the work, is damage that a call has done.
ADAPTER = """
import nightfuzz_fakelib

KIND = "own"
LATE = 200  # more than half of all reads: no second process reads so often

class Adapter(nightfuzz_fakelib.Adapter):
    library = "brittlelib"
    prefixes = ("fakelib",)
    looks = 0

    def load(self):
        import fakelib
        self.root = fakelib
        return fakelib

    def state(self):
        Adapter.looks += 1
        if Adapter.looks % 40 == 0 and KIND == "own":
            raise ArithmeticError("planted in an adapter")
        if Adapter.looks == LATE and KIND == "once":
            raise ArithmeticError("planted in an adapter")
        if Adapter.looks % 40 == 0 and KIND == "memory":
            raise MemoryError
        if Adapter.looks % 40 == 0 and KIND == "damage":
            raise SystemError("lasti is not an int")
        if Adapter.looks % 40 == 0 and KIND == "refusal":
            raise RuntimeError("can't allocate memory: you tried to allocate 755150013570000 bytes")
        return super().state()


class Dialect(nightfuzz_fakelib.Dialect):
    library = "brittlelib"
"""
FUZZ = ("fuzz", "--tests-count", 300, "--seed", 1, "--workers", 1, "--api", "*.scale", "--api", "*.add")


@pytest.fixture(params=["own", "once", "memory", "damage", "refusal"])
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The fault of brittlelib's adapter: an error of its own code, or an error that the library has brought about."""
    (tmp_path / "nightfuzz_brittlelib.py").write_text(ADAPTER.replace('KIND = "own"', f'KIND = "{request.param}"'))
    monkeypatch.setenv("NIGHTFUZZ_PATH", os.pathsep.join([str(tmp_path), os.environ["NIGHTFUZZ_PATH"]]))
    monkeypatch.syspath_prepend(tmp_path)
    return str(request.param)


@pytest.fixture
def fuzzed(kind: str, tmp_path: Path, fakelib_python: str) -> Iterator[Done]:
    """The output of a fuzz of the library."""
    state = tmp_path / "state"
    info = {"summary": "brittlelib 1", "notes": [], "devices": ["cpu"]}
    target = TargetRecord("brittlelib-1", f"python:{fakelib_python}", "brittlelib", "1", fakelib_python, info)
    with open_store(state / "state.db") as store:
        store.save_target(target)
        trace(Session(store, target, state, workers=1), TraceOptions(sources=["docs"]))
    yield run(*FUZZ, "--state", state)


def test_a_fault_is_told_with_its_traceback_and_what_was_found_is_kept(fuzzed: Done, kind: str, tmp_path: Path) -> None:
    place = "a fault of nightfuzz at "
    if kind != "own":
        assert fuzzed.code == 0, fuzzed.err
        assert place not in fuzzed.out + fuzzed.err
        assert ("one worker ended by an error at nightfuzz_brittlelib.py:" in fuzzed.out) is (kind == "once")
        # The work of that worker has run again, so its test has not died.
        assert kind != "once" or " 0 workers died" in fuzzed.out
        return
    assert fuzzed.code == 3, fuzzed.out + fuzzed.err
    # The error is printed when it happens and at the end; the summary has the number of workers.
    assert fuzzed.err.count("ArithmeticError: planted in an adapter") == 2
    assert "this is a bug in nightfuzz; please report the lines below" in fuzzed.err
    assert "of the workers ended by " + place in fuzzed.out
    with open_store(tmp_path / "state" / "state.db") as store:
        assert {bug.api for bug in store.bugs()} == {"fakelib.scale"}
