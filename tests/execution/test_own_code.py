"""Workers import this project, and nothing else of the controller's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import fuzz_core
from fuzz_core.execution.zygote import environment


def test_what_lies_beside_the_project_is_no_workers(
    tmp_path: Path, fakelib_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed as a wheel, the project lies beside its dependencies: numpy of another version, say."""
    monkeypatch.delenv("NIGHTFUZZ_PATH")
    for _ in range(2):
        made = environment(tmp_path)
        (folder,) = made["PYTHONPATH"].split(os.pathsep)
        assert [each.name for each in Path(folder).iterdir()] == ["fuzz_core"]
        ask = [fakelib_python, "-c", "import fuzz_core.worker; print(fuzz_core.__file__)"]
        done = subprocess.run(ask, env=made, cwd=tmp_path, capture_output=True, text=True)
        assert Path(done.stdout.strip()).resolve() == Path(fuzz_core.__file__).resolve(), done
