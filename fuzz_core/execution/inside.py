"""`python -m fuzz_core.execution.inside STATE MARK PYTHON...`: what a container finds, before it works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz_core.execution.image import identity

START_SECONDS = 60.0
# What a worker imports first, as far as it needs libraries of the system.
NEEDED = "import ctypes, json, socket, zlib"


def found(state: Path, mark: str, pythons: Sequence[str]) -> dict[str, object]:
    """Which code and Python are here, whether the state is that of the caller, and why interpreters do not start."""
    return {
        "identity": identity(),
        "version": "{}.{}".format(*sys.version_info),
        "prefix": sys.base_prefix,
        "state": os.access(state / mark, os.F_OK) and os.access(state, os.W_OK),
        "interpreters": {python: problem for python in pythons if (problem := _problem(python))},
    }


def _problem(python: str) -> str:
    """The last line that it says where it fails, else nothing."""
    try:
        ran = subprocess.run(
            [python, "-c", NEEDED], stdin=subprocess.DEVNULL, capture_output=True, timeout=START_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = ran.stderr.decode(errors="replace").strip().splitlines()
    return (said[-1] if said else f"exit code {ran.returncode}") if ran.returncode else ""


if __name__ == "__main__":
    print(json.dumps(found(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])))
