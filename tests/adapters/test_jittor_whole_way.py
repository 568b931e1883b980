"""The whole way with Jittor: a user's test is traced, its calls are fuzzed, and a real bug is found."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fuzz_core.cli.app import app
from fuzz_core.store.statefile import open_store

TEST = "import jittor\n\ndef test_inverse():\n    jittor.erfinv(jittor.array([0.1, 0.5])).sync()\n"


@pytest.mark.real
def test_code_that_does_not_compile_is_a_bug_with_the_compilers_words(
    jittor_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 1.3.11.0 writes a call for integers that has several meanings.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    Path("own").mkdir()
    Path("own/test_inverse.py").write_text(TEST)
    seeds = ["--target", f"python:{jittor_python}", "--source", "tests", "--tests", "own", "--changed"]
    fuzzing = ["--api", "jittor.erfinv", "--tests-count", "150", "--seed", "3", "--state", "state"]
    done = CliRunner().invoke(app, ["run", *seeds, *fuzzing], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    with open_store(tmp_path / "state" / "state.db") as store:
        bugs = {bug.outcome.text.partition("\n")[0]: bug for bug in store.bugs()}
    said = next(line for line in bugs if line.startswith("compiler: "))
    assert "_erfinv" in said
    assert "is ambiguous" in said
    assert (bugs[said].api, bugs[said].kind, bugs[said].hits, bugs[said].runs) == (
        "jittor.erfinv", "internal-error", 5, 5,
    )  # fmt: skip
