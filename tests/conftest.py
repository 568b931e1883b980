"""Fixtures that tests of every package share."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from fuzz_core.campaign.session import Session
from fuzz_core.campaign.tracing import TraceOptions, trace
from fuzz_core.store.opening import open_store
from fuzz_core.store.records import TargetRecord
from fuzz_core.targets.build import has_gpu
from fuzz_core.targets.environment import ensure
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.record import list_targets
from fuzz_core.targets.spec import parse_spec

# Projects with tests of their own, for tests of what nightfuzz makes of them.
collect_ignore = ["fixtures"]
COMMON = str(Path(__file__).parent / "common")
sys.path.insert(0, COMMON)
os.environ["NIGHTFUZZ_PATH"] = COMMON
# The same examples in every run: what is red is red again. `--hypothesis-profile=explore` looks further.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2000, deadline=None)
settings.load_profile("same")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `gpu` are skipped where there is none."""
    for item in items:
        if item.get_closest_marker("gpu") and not has_gpu():
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU on this machine"))


def _interpreter(spec: str) -> Path:
    """The real library, installed once per user and reused (locked, so that parallel test processes may ask)."""
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
    """An interpreter with TensorFlow 2.12.0, whose Keras is another one; a second TensorFlow is not fetched for it."""
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


@pytest.fixture
def fakelib_session(tmp_path: Path, fakelib_python: str) -> Iterator[Session]:
    """A session on a fresh store with fakelib as its target; nothing is traced yet."""
    info = {"summary": "fakelib 1", "notes": [], "devices": ["cpu"]}
    target = TargetRecord("fakelib-1", f"python:{fakelib_python}", "fakelib", "1", fakelib_python, info)
    with open_store(tmp_path / "state" / "state.db") as store:
        store.save_target(target)
        yield Session(store, target, tmp_path / "state", workers=1)


@pytest.fixture
def traced_session(fakelib_session: Session) -> Session:
    """The same, with the examples of fakelib's docstrings traced."""
    trace(fakelib_session, TraceOptions(sources=["docs"]))
    return fakelib_session
