"""A mode is one record: in a scratch library, one record is all that a new mode takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
LIBRARY = """
from fuzz_core.adapters import base, dialect
from fuzz_core.adapters.dialect import ModeSpec, Way
from fuzz_core.adapters.modes import Mode

MODES = {
    "halved": ModeSpec("nightfuzz_numpy:Halved", Way("assert {actual} == {expected}", actual="f({x}) / 2"),
                       share=0.5, kind="wrong-metadata"),
}

class Halved(Mode):
    def run(self, test):
        return super().run(test) / 2

class Adapter(base.Adapter):
    library, ways = "numpy", MODES

class Dialect(dialect.Dialect):
    library, modes = "numpy", MODES
"""
PROGRAM = """
from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.ir.values import Fill, Invocation, Tensor, TestCase
from fuzz_core.triage.script import render_comparison
from fuzz_core.worker.execution import Execution

adapter, dialect = adapter_of("numpy"), dialect_of("numpy")
adapter.load()
call = Invocation("numpy.sqrt", (Tensor("float32", (2, 3), Fill(low=1.0, high=2.0)),))
execution = Execution(adapter, dialect, ["differential"])
found = [verdict for seed in range(100) for verdict, _ in execution.judge(TestCase(call, seed))[1]]
kinds = {(verdict.kind, verdict.detail.split(":")[0]) for verdict in found}
print(*kinds.pop(), 30 < len(found) < 70, not kinds)
print("f(x) / 2" in render_comparison(TestCase(call, 1), "halved", dialect))
"""


def test_a_new_mode_is_one_record(tmp_path: Path) -> None:
    """It is executed for its share of the test cases, judged by its kind, and shown by a script."""
    (tmp_path / "nightfuzz_numpy.py").write_text(LIBRARY)
    path = os.pathsep.join((str(ROOT), str(tmp_path)))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["wrong-metadata", "halved", "True", "True", "True"]
