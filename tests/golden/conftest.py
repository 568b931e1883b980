"""Fixtures: campaigns on the libraries with known bugs, made once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from fuzz_core.campaign.examination import examine
from fuzz_core.campaign.examiner import TriageOptions
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

# The apis have one fault of each kind. Hangs, slow calls and leaks are missing: they depend on the clock.
FAKELIB = [f"fakelib.{name}" for name in ("add", "concat", "outer", "resize", "row_sum", "scale", "nn.Window")]
QUALITYLIB = [
    f"qualitylib.{name}"
    for name in ("add", "cube", "divide", "gathered", "pad", "pick", "quantile", "remainder", "running_sum", "sigmoid")
]
ORACLES = ("crash", "differential", "nonfinite", "bounds")
TRIAGE = TriageOptions(bug_seconds=600.0, runs=2, timeout=20.0)


@pytest.fixture(scope="session")
def fakelib_campaign(tmp_path_factory: pytest.TempPathFactory, fakelib_python: str) -> Iterator[Session]:
    """Yields a campaign on fakelib: traced, fuzzed and examined."""
    with _campaign(tmp_path_factory.mktemp("golden"), "fakelib", fakelib_python, FAKELIB, 500, ("crash",)) as session:
        yield session


@pytest.fixture(scope="session")
def qualitylib_campaign(tmp_path_factory: pytest.TempPathFactory, fakelib_python: str) -> Iterator[Session]:
    """Yields a campaign on qualitylib with every oracle that does not depend on the clock."""
    with _campaign(
        tmp_path_factory.mktemp("golden"), "qualitylib", fakelib_python, QUALITYLIB, 1500, ORACLES
    ) as session:
        yield session


@contextmanager
def _campaign(
    folder: Path, library: str, python: str, patterns: Sequence[str], tests: int, oracles: Sequence[str]
) -> Iterator[Session]:
    devices = ["cpu", "cuda"] if library == "qualitylib" else ["cpu"]
    info = {"summary": f"{library} 1", "notes": [], "devices": devices}
    target = TargetRecord(f"{library}-1", f"{library}==1", library, "1", python, info)
    with open_store(folder / "state.db") as store:
        store.save_target(target)
        session = Session(store, target, folder, workers=1)
        trace(session, TraceOptions(sources=["docs"]))
        options = FuzzOptions(seconds=None, tests=tests, seed=7, timeout=20.0, patterns=patterns, oracles=oracles)
        fuzz(session, options)
        examine(session, TRIAGE)
        yield session
