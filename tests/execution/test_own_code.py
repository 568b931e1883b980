"""Tests that workers import this project, and no other package of the controller's environment."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import fuzz_core
from fuzz_core.execution.zygote import environment


def test_what_lies_beside_an_installed_project_is_no_workers(
    tmp_path: Path, fakelib_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project installed as a wheel lies beside its dependencies, such as numpy of another version."""
    real = Path(fuzz_core.__file__).parent
    (tmp_path / "site" / "numpy").mkdir(parents=True)
    (tmp_path / "site" / "fuzz_core").symlink_to(real)
    monkeypatch.setattr(fuzz_core, "__file__", str(tmp_path / "site" / "fuzz_core" / "__init__.py"))
    monkeypatch.setenv("NIGHTFUZZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NIGHTFUZZ_PATH")
    seen = {environment(tmp_path)["PYTHONPATH"] for _ in range(2)}
    (folder,) = seen
    assert os.pathsep not in folder and [each.name for each in Path(folder).iterdir()] == ["fuzz_core"]
    ask = [fakelib_python, "-c", "import fuzz_core.worker; print(fuzz_core.__file__)"]
    done = subprocess.run(ask, env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True)
    assert Path(done.stdout.strip()).resolve() == real / "__init__.py", done


def test_a_checkout_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NIGHTFUZZ_PATH")
    assert environment(tmp_path)["PYTHONPATH"] == str(Path(fuzz_core.__file__).parents[1])
