"""Scripts in the interpreter of a real library, with the adapter of the library at hand."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import fuzz_core
from fuzz_core.adapters.dialect import dialect_of


def printed(python: Path, library: str, script: str) -> str:
    """Return what a script prints in the library's interpreter; the name `adapter` is the loaded adapter."""
    start = f"from fuzz_core.adapters.base import adapter_of\nadapter = adapter_of({library!r})\nadapter.load()\n"
    root = str(Path(fuzz_core.__file__).parents[1])
    environment = {**os.environ, **dialect_of(library).environment, "PYTHONPATH": root}
    done = subprocess.run([python, "-c", start + script], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()
