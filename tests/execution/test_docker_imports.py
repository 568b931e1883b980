"""Tests of a wheel that attacks the process of its first import: with a sandbox, a container makes that import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fakewheels import FakeWheel, write_wheel

# Fixtures of pytest are found by their names.
from test_docker_sandbox import engine, image  # noqa: F401

pytestmark = [pytest.mark.docker, pytest.mark.timeout(300), pytest.mark.usefixtures("image")]


def pulled(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `nightfuzz pull` for a wheel of fakelib whose code fails if it finds a file of this machine."""
    secret = tmp_path / "home" / "secret"
    secret.parent.mkdir()
    secret.write_text("s3cr3t")
    attack = f"import os\nif os.path.exists({str(secret)!r}): raise SystemExit('found a file of the machine')\n"
    line = f"import builtins; exec({attack!r})\n"
    wheel = write_wheel(tmp_path / "index", FakeWheel("fakelib", "1.0", attack, {"evil.pth": line}, numpy=True))
    pip = {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "index")}
    command = [sys.executable, "-P", "-m", "fuzz_core.cli", "pull", str(wheel)]
    return subprocess.run(
        [*command, "--state", str(tmp_path / "state"), *arguments],
        env={**os.environ, **pip, "NIGHTFUZZ_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )


def test_the_first_import_sees_no_file_of_the_machine(tmp_path: Path) -> None:
    done = pulled(tmp_path, "--sandbox", "docker", "--json")
    assert done.returncode == 0, done.stderr
    (made,) = json.loads(done.stdout)
    assert (made["library"], made["version"]) == ("fakelib", "1.0")


def test_without_one_it_would(tmp_path: Path) -> None:
    done = pulled(tmp_path, "--sandbox", "none")
    assert done.returncode == 2 and "found a file of the machine" in done.stderr
