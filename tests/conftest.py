"""Fixtures that the tests of several folders share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from examples import FAST, THOROUGH
from hypothesis import settings

from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.record import list_targets
from fuzz_core.targets.resolve import has_gpu
from fuzz_core.targets.spec import parse_spec
from fuzz_core.triage import process

# Projects with tests of their own: nightfuzz's tests use them as input.
collect_ignore = ["fixtures"]
COMMON = str(Path(__file__).parent / "common")
ROOT = Path(__file__).parents[1]
os.environ["NIGHTFUZZ_PATH"] = COMMON
# Every run draws the same examples, so a failure repeats. `make test` takes the fast profile, `make test-all` the
# thorough one, and `--hypothesis-profile=explore` draws new examples. A test that costs more or less than others asks
# for its number of examples (`common/examples.py`), so that every profile still scales it.
settings.register_profile("fast", derandomize=True, deadline=None, max_examples=FAST)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=THOROUGH)
settings.register_profile("explore", max_examples=2000, deadline=None)
settings.load_profile("fast")

# A test has the mark of each part that it needs. The part is a fixture of the test, or the folder that holds the test.
FIXTURES = {
    "real": {"torch_python", "tensorflow_python", "keras2_python", "jittor_python", "old_torch_python"},
    "server": {"github_server"},
    "docker": {"engine"},
    "process": {"fakelib_python", "numpy_python", "faulty_python", "zygote", "own_index", "indexed"},
}
FOLDERS = {"chaos": "chaos", "quality": "quality"}


def _named_fixtures(item: pytest.Item) -> set[str]:
    """Parameters of a test that may name the fixture it asks for when it runs."""
    callspec = getattr(item, "callspec", None)
    return {value for value in callspec.params.values() if isinstance(value, str)} if callspec else set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with the parts it needs, and skip tests marked `gpu` on a machine without one."""
    for item in items:
        needed = {*getattr(item, "fixturenames", ()), *_named_fixtures(item)}
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        marks = {mark for mark, fixtures in FIXTURES.items() if needed & fixtures}
        marks |= {mark for mark, name in FOLDERS.items() if folder == name}
        for mark in sorted(marks):
            item.add_marker(mark)
        if item.get_closest_marker("gpu") and not has_gpu():
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU on this machine"))


def _interpreter(spec: str) -> Path:
    """Install the real library once per user and return its interpreter; a lock serves parallel test processes."""
    try:
        return ensure(parse_spec(spec), "cpu").python
    except IndexUnreachable as error:
        pytest.skip(f"{spec} is not installed as a target and can't be: {error.problem}")


@pytest.fixture(scope="session")
def torch_python() -> Path:
    """An interpreter with torch 2.13.0, numpy, expecttest, scipy and pytest."""
    return _interpreter("torch==2.13.0")


@pytest.fixture(scope="session")
def tensorflow_python() -> Path:
    """An interpreter with TensorFlow 2.21.0, keras and pytest."""
    return _interpreter("tensorflow-cpu==2.21.0")


@pytest.fixture(scope="session")
def keras2_python() -> Path:
    """An interpreter with TensorFlow 2.12.0 and Keras 2. The test does not download a second TensorFlow."""
    found = [each.python for each in list_targets() if each.library == "tensorflow" and each.version == "2.12.0"]
    if not found:
        pytest.skip("no TensorFlow with Keras 2 here: `nightfuzz pull tensorflow-cpu==2.12.0`")
    return Path(found[0])


@pytest.fixture(scope="session")
def jittor_python() -> Path:
    """An interpreter with Jittor 1.3.11.0, its core compiled."""
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler (g++), which Jittor compiles itself with: install the package g++")
    return _interpreter("jittor==1.3.11.0")


@pytest.fixture(scope="session")
def fakelib_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter with numpy and fakelib: the target whose bugs are known."""
    home = tmp_path_factory.mktemp("fakelib") / "env"
    venv.create(home, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    (packages / "fakelib.pth").write_text(f"{Path(np.__file__).parent.parent}\n{COMMON}\n")
    return str(home / "bin" / "python")


@pytest.fixture(scope="session")
def fakelib_target(fakelib_python: str) -> TargetRecord:
    """The target record of fakelib."""
    info = {"summary": "fakelib 1", "notes": [], "devices": ["cpu"]}
    return TargetRecord("fakelib-1", f"python:{fakelib_python}", "fakelib", "1", fakelib_python, info)


@contextmanager
def _session(state: Path, target: TargetRecord) -> Iterator[Session]:
    """A session with one worker on the state file of a directory."""
    with open_store(state / "state.db") as store:
        store.save_target(target)
        yield Session(store, target, state, workers=1)


@pytest.fixture
def fakelib_session(tmp_path: Path, fakelib_target: TargetRecord) -> Iterator[Session]:
    """A session on a fresh store with fakelib as its target and no traced calls."""
    with _session(tmp_path / "state", fakelib_target) as session:
        yield session


@pytest.fixture(scope="session")
def traced_template(tmp_path_factory: pytest.TempPathFactory, fakelib_target: TargetRecord) -> Path:
    """A state directory with the examples of fakelib's docstrings traced. Copy it before you write."""
    state = tmp_path_factory.mktemp("template") / "state"
    with _session(state, fakelib_target) as session:
        trace(session, TraceOptions(sources=["docs"]))
    return state


@pytest.fixture
def traced_session(tmp_path: Path, traced_template: Path, fakelib_target: TargetRecord) -> Iterator[Session]:
    """A session on a copy of the traced state."""
    shutil.copytree(traced_template, tmp_path / "state")
    with _session(tmp_path / "state", fakelib_target) as session:
        yield session


@pytest.fixture
def unconfined_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scripts of bugs write outside of their own folders: some scripts count their runs there."""
    monkeypatch.setattr(process, "confined", lambda command, writable: [*command])


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout's committed and uncommitted files, built as a release builds it: from its sdist."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listed = subprocess.check_output(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT)
    names = [name for name in listed.decode().split("\0") if name and (ROOT / name).exists()]
    packed = subprocess.run(["tar", "-C", str(ROOT), "-c", *names], stdout=subprocess.PIPE, check=True).stdout
    source.mkdir()
    subprocess.run(["tar", "-C", str(source), "-x"], input=packed, check=True)
    command = [sys.executable, "-m", "uv", "build", "--offline", "--no-build-isolation", "--no-config"]
    subprocess.run([*command, "--out-dir", str(folder / "dist"), str(source)], check=True, capture_output=True)
    [made] = (folder / "dist").glob("*.whl")
    return made
