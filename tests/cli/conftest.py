"""The command line in a directory of its own, and a state with a target, traces and bugs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import Cli, run

from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs a command in an empty directory; it asks no package index and sees no target of the user's."""
    (tmp_path / "work").mkdir()
    (tmp_path / "index").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for name, value in {"CONFIG_FILE": "/dev/null", "NO_INDEX": "1", "FIND_LINKS": str(tmp_path / "index")}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    return run


@pytest.fixture(scope="session")
def traced_once(tmp_path_factory: pytest.TempPathFactory, fakelib_python: str) -> Path:
    """A state directory with fakelib's documentation traced."""
    state = tmp_path_factory.mktemp("traced") / "state"
    with open_store(state / "state.db") as store:
        store.save_target(TargetRecord("fakelib-1", "fakelib==1", "fakelib", "1", fakelib_python, {"summary": "fake"}))
    traced = run("trace", "--state", state, "--target", "fakelib-1", "--source", "docs", "--json")
    assert traced.code == 0, traced
    return state


FUZZ = ("fuzz", "--tests-count", 300, "--seed", 1, "--api", "*.scale", "--api", "*.add")


@pytest.fixture(scope="session")
def worked_once(traced_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same state, with two apis fuzzed."""
    state = tmp_path_factory.mktemp("worked") / "state"
    shutil.copytree(traced_once, state)
    fuzzed = run(*FUZZ, "--state", state)
    assert fuzzed.code == 0, fuzzed
    return state


@pytest.fixture
def traced(traced_once: Path, tmp_path: Path) -> Path:
    """A copy of the traced state, in which no api was fuzzed."""
    shutil.copytree(traced_once, tmp_path / "traced")
    return tmp_path / "traced"


@pytest.fixture
def state(worked_once: Path, tmp_path: Path) -> Path:
    """A copy of the state that has a bug."""
    shutil.copytree(worked_once, tmp_path / "state")
    return tmp_path / "state"
