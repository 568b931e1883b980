"""The sweep of a few functions of the real PyTorch: complete, repeatable, with accepted and refused classes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz_core.campaign import fuzz as module
from fuzz_core.campaign.coverage import coverage_by_api
from fuzz_core.campaign.fuzz import FuzzOptions, fuzz
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

CALLS = """
import torch
import torch.nn.functional as F

def test_calls():
    torch.matmul(torch.ones(2, 3), torch.arange(12.0).reshape(3, 4))
    F.pad(torch.arange(6.0).reshape(1, 2, 3), (1, 1), "constant", 0.5)
    torch.index_select(torch.arange(6.0).reshape(2, 3), 1, torch.tensor([0, 2]))
    torch.ones(2, device=torch.device("cpu"))
    F.embedding_bag(torch.tensor([1, 2]), torch.ones(4, 2), torch.tensor([0]))
"""
APIS = ["torch.index_select", "torch.matmul", "torch.nn.functional.pad", "torch.ones"]
BAG = "torch.nn.functional.embedding_bag"


@pytest.fixture
def session(torch_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.setattr(module, "SWEEP_SHARE", 1.0)
    info = {"summary": "torch", "notes": [], "devices": ["cpu"]}
    target = TargetRecord("torch-2.13.0", "torch==2.13.0", "torch", "2.13.0", str(torch_python), info)
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_calls.py").write_text(CALLS)
    with open_store(tmp_path / "state.db") as store:
        store.save_target(target)
        session = Session(store, target, tmp_path, workers=1)
        trace(session, TraceOptions(sources=["tests"], tests_dirs=[tests], own=True))
        yield session


def results_of(session: Session) -> dict[tuple[str, str, str], str]:
    return {(row.api, row.argument, row.name): row.result for row in session.store.cells(session.target.key)}


def test_every_cell_of_four_functions_is_tried(session: Session) -> None:
    fuzz(session, FuzzOptions(seconds=None, tests=4000, patterns=APIS, sweep=True))
    rows = coverage_by_api(session.store, session.target.key)
    assert [row.api for row in rows] == APIS
    for row in rows:
        assert (row.untried, row.results["postponed"]) == (0, 0)
        assert row.results["valid"] > 20 and row.results["refused"] > 20
    results = results_of(session)
    assert results["torch.nn.functional.pad", "mode", "Unknown String nightfuzz"] == "refused"
    assert results["torch.matmul", "input", "NaN Contents"] == "valid"
    joint = {name: results["torch.matmul", "", f"Joint Form {name}"] for name in ("meta", "sparse", "quantised")}
    assert joint == {"meta": "valid", "sparse": "valid", "quantised": "refused"}
    index = "torch.index_select", "index"
    assert results[*index, "Indices Outside at size 0 of tensor 0"] == "valid"
    assert results[*index, "Indices Outside at size 1 of tensor 0"] == "refused"
    assert results["torch.index_select", "dim", "Index Outside at size 1 of tensor 0"] == "refused"
    assert results["torch.index_select", "input", "Huge View last"] == "out-of-memory"
    assert results["torch.ones", "device", "Other Device meta"] == "valid"
    assert results["torch.ones", "arg0", "Nested Scalar tuple"] == "valid"


def test_a_backward_pass_that_dies_of_a_class_is_a_finding_of_the_sweep(session: Session) -> None:
    """The call itself returns without offsets."""
    fuzz(session, FuzzOptions(seconds=None, tests=1500, patterns=[BAG], oracles=("crash",), sweep=True))
    results = results_of(session)
    assert results[BAG, "offsets", "Empty Dimension"] == "crashed"
    # The recorded call leaves both to their defaults.
    assert results[BAG, "", "Added Argument scale_grad_by_freq True"] == "valid"
    assert results[BAG, "", "Added Argument mode text"] == "refused"
    found = session.store.pending_findings(session.target.key)
    assert "backward: segmentation fault (SIGSEGV)" in {each.verdict.detail for each in found}
