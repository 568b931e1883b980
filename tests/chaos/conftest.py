"""A traced session of the hostile library. A run must leave its findings: no process, no file, no shared memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.worker.limits import children

KEY = "hostilelib-1"


def _processes_of(folder: Path) -> set[int]:
    """Returns the processes whose home directory lies below a folder."""
    found = set()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"HOME={folder}/".encode() in environment.read_bytes():
                found.add(int(environment.parent.name))
    return found


@pytest.fixture
def processes_of() -> Callable[[Path], set[int]]:
    """The function that finds the processes whose home directory lies below a folder."""
    return _processes_of


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory, fakelib_python: str) -> Path:
    """A state directory with the examples of hostilelib's docstrings."""
    state = tmp_path_factory.mktemp("hostile") / "state"
    info = {"summary": "hostilelib 1", "notes": [], "devices": ["cpu"]}
    target = TargetRecord(KEY, f"python:{fakelib_python}", "hostilelib", "1", fakelib_python, info)
    with open_store(state / "state.db") as store:
        store.save_target(target)
        trace(Session(store, target, state, workers=2), TraceOptions(sources=["docs"]))
    return state


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files during the test."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def state(tmp_path: Path, traced: Path) -> Path:
    """A state directory for this test alone."""
    return Path(shutil.copytree(traced, tmp_path / "state"))


@pytest.fixture
def session(state: Path, temporary: Path) -> Iterator[Session]:
    """A session with two workers. The test must leave no process, no zombie, no file and no shared memory."""
    known = set(children())
    with open_store(state / "state.db") as store:
        yield Session(store, store.targets()[0], state, workers=2)
    assert _processes_of(temporary) == set()
    assert set(children()) <= known
    assert list(temporary.glob("nightfuzz-*")) == []
    assert not list(Path("/dev/shm").glob("hostilelib-*"))


@pytest.fixture
def mounted() -> Iterator[Callable[[Path, str], Path]]:
    """Mounts a small file system; skips the test if mounting is not allowed."""
    made: list[Path] = []

    def mount(place: Path, options: str) -> Path:
        place.mkdir(exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        try:
            said = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("a small disk cannot be had: there is no `mount`")
        if said.returncode != 0:
            pytest.skip(f"a small disk cannot be had: mounting a tmpfs is not allowed here ({said.stderr.strip()})")
        made.append(place)
        return place

    yield mount
    for place in made:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def fill_up() -> Callable[[Path], Path]:
    """Fills the disk of a folder with one file, up to 1 GiB."""

    def fill(folder: Path) -> Path:
        file = folder / "filler"
        with suppress(OSError), file.open("ab", buffering=0) as writing:
            while os.fstat(writing.fileno()).st_size < 1 << 30:
                writing.write(b"x" * 4096)
        return file

    return fill
