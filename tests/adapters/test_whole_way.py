"""The whole way with the smallest of adapters: an interpreter with numpy, its documentation, and a planted bug."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fuzz_core.adapters.base import adapter_of
from fuzz_core.adapters.dialect import dialect_of
from fuzz_core.cli.app import app
from fuzz_core.store.statefile import open_store

LINES = 40


def test_an_adapter_needs_few_lines(numpylib: Path) -> None:
    assert len((numpylib / "nightfuzz_numpy.py").read_text().splitlines()) <= LINES
    assert adapter_of("numpy").library == dialect_of("numpy").library == "numpy"


def test_an_interpreter_is_fuzzed_from_its_documentation_to_a_confirmed_bug(
    faulty_python: Path, numpylib: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    target = ["--target", f"python:{faulty_python}", "--library", "numpy", "--source", "docs", "--state", "state"]
    fuzzing = ["--api", "numpy.linalg.norm", "--tests-count", "500", "--seed", "1"]
    done = CliRunner().invoke(app, ["run", *target, *fuzzing], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    with open_store(tmp_path / "state" / "state.db") as store:
        (bug,) = store.bugs()
    assert (bug.api, bug.kind, bug.hits, bug.runs) == ("numpy.linalg.norm", "internal-error", 5, 5)
    script = subprocess.run([faulty_python, "-c", bug.script], capture_output=True, text=True, check=False)
    assert script.stderr.splitlines()[-1] == "SystemError: norm returned NULL without setting an exception"
    assert "\n## New bugs\n\n#### `numpy.linalg.norm(" in (tmp_path / "state" / "report.md").read_text()
