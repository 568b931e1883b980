"""A new library: one package and one table line suffice, in a scratch copy, to find it, list its apis and call them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD = """    "tinylib": Library(
        "tinylib", adapter=f"{_HOME}tinylib.adapter:Adapter", dialect=f"{_HOME}tinylib.dialect:Dialect",
        distributions=("tinylib",), repository="tiny/lib",
    ),
"""
PACKAGE = {
    "__init__": '"""Tinylib."""\n',
    "adapter": 'from fuzz_core.adapters import base\n\n\nclass Adapter(base.Adapter):\n    library = "tinylib"\n',
    "dialect": 'from fuzz_core.adapters import dialect\n\n\nclass Dialect(dialect.Dialect):\n    library = "tinylib"\n',
}
LIBRARY = """
def half(x):
    "x / 2"
    return x / 2
"""
PROGRAM = """
from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.adapters.library import library_of
from fuzz_core.ir.values import Invocation, TestCase, prim
from fuzz_core.targets.spec import parse_spec
from fuzz_core.triage.script import render
from fuzz_core.worker.execution import Execution

adapter, dialect = adapter_of("tinylib"), dialect_of("tinylib")
adapter.load()
test = TestCase(Invocation("tinylib.half", (prim(3),)), 1)
outcome, found = Execution(adapter, dialect, ["crash"]).judge(test)
print(*[each.api.name for each in adapter.listed()], outcome.kind, found)
print(library_of("tinylib").repository, parse_spec("tinylib==1").library, "tinylib.half(3)" in render(test, dialect))
"""


def test_a_new_library_is_one_package_and_one_line(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "programs")
    shutil.copytree(ROOT / "fuzz_core", tmp_path / "fuzz_core", ignore=ignored)
    package = tmp_path / "fuzz_core/adapters/tinylib"
    package.mkdir()
    for name, text in PACKAGE.items():
        (package / f"{name}.py").write_text(text)
    libraries = tmp_path / "fuzz_core/adapters/library.py"
    table = "KNOWN_LIBRARIES: dict[str, Library] = {\n"
    assert table in libraries.read_text()
    libraries.write_text(libraries.read_text().replace(table, table + RECORD))
    (tmp_path / "tinylib.py").write_text(LIBRARY)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["tinylib.half ok []", "tiny/lib tinylib True"]
