"""Calls of real functions that no seed calls: by search from definitions and refusals, and inside other calls."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz_core.campaign.carryover import TraceReport, recheck
from fuzz_core.campaign.neighbours import visit_neighbours
from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.ir.signatures import NEIGHBOUR, SEARCH
from fuzz_core.ir.values import Invocation, Tensor, Then, prim
from fuzz_core.store import open_store
from fuzz_core.store.records import SeedRecord, TargetRecord

# Functions of one tensor, of tensors that must fit each other, of tensors with a rank, a dtype or a text, of functions.
RAW_OPS = ["BatchMatMul", "BiasAddGrad", "L2Loss", "LRN", "MatrixDiagPart", "PartitionedCall", "SigmoidGrad", "TopKV2"]
APIS = {
    "tensorflow": [f"tf.raw_ops.{name}" for name in RAW_OPS],
    "torch": [
        "torch.Tensor.addmm_",
        "torch.Tensor.clamp_",
        "torch.Tensor.index_fill_",
        "torch.Tensor.triu_",
        "torch.bilinear",
        "torch.logit",
        "torch.outer",
        "torch.tensordot",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize(("library", "interpreter"), [("tensorflow", "tensorflow_python"), ("torch", "torch_python")])
def test_calls_are_found_and_run_again(
    library: str, interpreter: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    python = str(request.getfixturevalue(interpreter))
    target = TargetRecord(f"{library}-1", f"python:{python}", library, "1", python, {})
    with open_store(tmp_path / "state.db") as store:
        store.save_target(target)
        options = TraceOptions(sources=[SEARCH], patterns=APIS[library])
        report = trace(Session(store, target, tmp_path, workers=2), options)
        rows = [row for row in store.coverage(target.key) if row.api in APIS[library]]
        assert report.searched == len(rows) == len(APIS[library])
        # A search is chance: a few of the functions may remain.
        assert sum(row.valid > 0 for row in rows) >= 0.75 * len(rows), [(row.api, row.gap) for row in rows]
        assert all(row.sources == {SEARCH: row.valid} for row in rows if row.valid)


@pytest.mark.slow
def test_what_no_call_can_do_is_said(tensorflow_python: Path, tmp_path: Path) -> None:
    python = str(tensorflow_python)
    target = TargetRecord("tensorflow-1", f"python:{python}", "tensorflow", "1", python, {})
    asked = {"tf.gradients": "is for graphs alone", "tf.keras.Initializer": "is an abstract class"}
    with open_store(tmp_path / "state.db") as store:
        store.save_target(target)
        trace(Session(store, target, tmp_path, workers=2), TraceOptions(sources=[SEARCH], patterns=[*asked]))
        gaps = {row.api: row.gap for row in store.coverage(target.key) if row.api in asked}
        assert {api: gap.partition(":")[0] for api, gap in gaps.items()} == asked


@pytest.mark.slow
def test_operations_inside_a_call_are_recorded_with_their_resources(tensorflow_python: Path, tmp_path: Path) -> None:
    python = str(tensorflow_python)
    target = TargetRecord("tensorflow-1", f"python:{python}", "tensorflow", "1", python, {})
    matrix = Tensor("float32", (2, 3))
    calls = [
        Invocation("tf.math.sigmoid", (matrix,)),
        Invocation("tf.keras.layers.Dense", (prim(2),), then=Then("__call__", (matrix,))),
    ]
    with open_store(tmp_path / "state.db") as store:
        store.save_target(target)
        store.save_trace(target.key, SeedRecord("0" * 32, "tests", "t", "ok"), [(call, "ok") for call in calls], {}, {})
        session, report = Session(store, target, tmp_path, workers=2), TraceReport()
        recheck(session, report)
        visit_neighbours(session, (), None, report)
        recheck(session, report)
        found = {row.api: row.sources for row in store.coverage(target.key) if row.valid}
        # The derivative, and an operation on the variable of the layer.
        assert found["tf.raw_ops.SigmoidGrad"].keys() == found["tf.raw_ops.ReadVariableOp"].keys() == {NEIGHBOUR}
        assert report.checked == report.valid > len(calls)
