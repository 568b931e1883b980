"""Golden tests of slices of PyTorch and TensorFlow with a fixed seed: traced calls and random streams stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_file import check_golden
from record import streams, traced

from fuzz_core.campaign.session import Session
from fuzz_core.campaign.trace import TraceOptions, trace
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import open_store

# The libraries' own examples draw tensors at random; these tests hold the same elements in every trace.
TESTS = {
    "torch": """
import torch
import torch.nn.functional as F

def test_calls():
    torch.floor_divide(torch.tensor([4.0, 3.0]), torch.tensor([2.0, 2.0]))
    torch.floor_divide(torch.tensor([4, 3]), 2)
    torch.matmul(torch.ones(2, 3), torch.arange(12.0).reshape(3, 4))
    F.pad(torch.arange(6.0).reshape(1, 2, 3), (1, 1), "constant", 0.5)
    F.conv2d(torch.ones(1, 1, 5, 5), torch.ones(2, 1, 3, 3), padding=1)
""",
    "tensorflow": """
import tensorflow as tf

def test_calls():
    tf.math.floordiv(tf.constant([4.0, 3.0]), tf.constant([2.0, 2.0]))
    tf.math.floordiv(tf.constant([4, 3]), 2)
    tf.linalg.matmul(tf.ones([2, 3]), tf.reshape(tf.range(12.0), [3, 4]))
    tf.pad(tf.reshape(tf.range(6.0), [2, 3]), [[1, 1], [0, 2]], constant_values=0.5)
""",
}
VERSIONS = {"torch": "2.13.0", "tensorflow": "2.21.0"}


@pytest.mark.parametrize(("library", "python"), [("torch", "torch_python"), ("tensorflow", "tensorflow_python")])
def test_a_real_library_gives_what_it_gave(
    library: str, python: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    version, interpreter = VERSIONS[library], str(request.getfixturevalue(python))
    info = {"summary": library, "notes": [], "devices": ["cpu"]}
    target = TargetRecord(f"{library}-{version}", f"{library}=={version}", library, version, interpreter, info)
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "test_calls.py").write_text(TESTS[library])
    with open_store(tmp_path / "state.db") as store:
        store.save_target(target)
        session = Session(store, target, tmp_path, workers=1)
        trace(session, TraceOptions(sources=["tests"], tests_dirs=[tests], own=True))
        calls = {"traced": traced(session), "streams": streams(session, tmp_path / "plan.jsonl")}
        check_golden(f"{library}.json", calls)
