"""Tests that a new oracle is one file and one line: in a scratch copy, both suffice to list, switch and run it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ORACLE = '''
"""An error message that contradicts itself."""

from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.oracles.contract import VerdictExample


class Contradiction:
    """Judges the message of the plain mode."""

    name = "contradiction"
    share = 1.0

    def plan(self, test, modes, dialect):
        """The plain mode."""
        return modes[:1]

    def judge(self, outcomes, dialect):
        """A message must not refuse and allow at once."""
        told = outcomes["cpu"].text
        return Verdict(self.name, "absurd" if "must be 3, got 3" in told else "clean", told)

    def examples(self, dialect):
        """One that contradicts itself, and one that does not."""
        absurd, plain = (Outcome("exception", "ValueError", f"must be 3, got {got}") for got in (3, 4))
        return [VerdictExample({"cpu": absurd}, "absurd"), VerdictExample({"cpu": plain}, "clean")]
'''
LINE = '    "contradiction": "fuzz_core.oracles.contradiction:Contradiction",\n'
# The planted fault: the check fails for a boolean, and its message contradicts itself.
LIBRARY = """
def narrow(x):
    if x is not True:
        return x
    raise ValueError("must be 3, got 3")
"""
ADAPTER = """
from fuzz_core.adapters import base, dialect

class Adapter(base.Adapter):
    library = "tinylib"

class Dialect(dialect.Dialect):
    library = "tinylib"
"""
PROGRAM = """
from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.cli.settings import Settings
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.oracles.contract import ORACLES, oracle_of
from fuzz_core.worker.execution import Execution

adapter, dialect = adapter_of("tinylib"), dialect_of("tinylib")
adapter.load()
oracle = oracle_of("contradiction")
assert all(oracle.judge(each.outcomes, dialect).kind == each.verdict for each in oracle.examples(dialect))
execution = Execution(adapter, dialect, list(ORACLES))
found = [execution.judge(TestCase(Invocation("tinylib.narrow", (prim(x),)), 1))[1] for x in (True, False)]
print(*[(verdict.oracle, verdict.kind) for verdict, _ in found[0]], found[1], "contradiction" in Settings().oracles)
"""


def test_a_new_oracle_is_one_file_and_one_line(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "programs")
    shutil.copytree(ROOT / "fuzz_core", tmp_path / "fuzz_core", ignore=ignored)
    (tmp_path / "fuzz_core/oracles/contradiction.py").write_text(ORACLE)
    contract = tmp_path / "fuzz_core/oracles/contract.py"
    table = "ORACLES: dict[str, str] = {\n"
    assert table in contract.read_text()
    contract.write_text(contract.read_text().replace(table, table + LINE))
    (tmp_path / "tinylib.py").write_text(LIBRARY)
    (tmp_path / "nightfuzz_tinylib.py").write_text(ADAPTER)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NIGHTFUZZ_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "('contradiction', 'absurd') [] True"
