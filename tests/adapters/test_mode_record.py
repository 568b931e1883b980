"""A mode is one record: in a scratch library, one record is all that a new mode takes."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.library import KNOWN_LIBRARIES

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
    """The mode gets its share of the test cases, its kind decides the verdict, and a script shows the bug."""
    (tmp_path / "nightfuzz_numpy.py").write_text(LIBRARY)
    path = os.pathsep.join((str(ROOT), str(tmp_path)))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["wrong-metadata", "halved", "True", "True", "True"]


def tables(source: str) -> Iterator[int]:
    """Yields lines of literals that hold two modes. Function names such as `backward` and `compile` do not count."""
    modes = {name for library in KNOWN_LIBRARIES for name in dialect_of(library).modes} - {
        "cuda",
        "backward",
        "compile",
    }
    for node in ast.walk(ast.parse(source)):
        held = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
        if len({each.value for each in held if isinstance(each, ast.Constant)} & modes) > 1:
            yield node.lineno


def test_nobody_keeps_a_second_table_of_modes() -> None:
    """Every other fact about a mode is a field of its record."""
    rooms = [ROOT / room for room in ("fuzz_core", "bot", "reports")]
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for room in rooms
        for path in sorted(room.rglob("*.py"))
        if "adapters" not in path.parts and "programs" not in path.parts
        for line in tables(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "second"),
    [
        ('{"strided": 0.25, "vmap": 0.1}', True),
        ('mode in ("grad", "grad-second")', True),
        ('("cpu", "cuda")', False),
        ('("strided", "call")', False),
    ],
)
def test_a_second_table_of_modes_would_be_seen(source: str, second: bool) -> None:
    assert bool([*tables(source)]) == second
