"""Fixtures: a target whose faults are all known."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

TARGET = "qualitylib-1"


@pytest.fixture(scope="session")
def traced_qualitylib(tmp_path_factory: pytest.TempPathFactory, fakelib_python: str) -> Path:
    """Returns a state in which the examples of qualitylib's docstrings are traced."""
    state = tmp_path_factory.mktemp("qualitylib") / "state"
    info = {"summary": "qualitylib 1", "notes": [], "devices": ["cpu", "cuda"]}
    target = TargetRecord(TARGET, f"python:{fakelib_python}", "qualitylib", "1", fakelib_python, info)
    with open_store(state / "state.db") as store:
        store.save_target(target)
        report = trace(Session(store, target, state, workers=1), TraceOptions(sources=["docs"]))
        assert report.valid == report.checked
        assert not [row for row in store.coverage(TARGET) if row.gap]
    return state


@pytest.fixture
def quality_session(tmp_path: Path, traced_qualitylib: Path) -> Iterator[Session]:
    """Yields a session on a state of its own."""
    state = Path(shutil.copytree(traced_qualitylib, tmp_path / "state"))
    with open_store(state / "state.db") as store:
        yield Session(store, store.target(TARGET), state, workers=1)
