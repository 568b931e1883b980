"""The dashboard of a large made state: time, memory and size of the site."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from bench.harness import STATE_FILE, Measurement
from bench.made_state import StateSize, make_state

USUAL = StateSize()


def measure(
    bugs: Annotated[int, typer.Option(help="Number of bugs in the state")] = USUAL.bugs,
    builds: Annotated[int, typer.Option(help="Number of builds in the state")] = USUAL.builds,
    findings: Annotated[int, typer.Option(help="Number of findings in the state")] = USUAL.findings,
    apis: Annotated[int, typer.Option(help="Number of apis of each build")] = USUAL.apis,
    keep: Annotated[Path | None, typer.Option(help="Folder that keeps state and sites (default: delete them)")] = None,
) -> Measurement:
    """Make a state, and write its dashboard as a folder and as one file."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        state = folder / STATE_FILE
        if not state.exists():
            make_state(state, USUAL._replace(bugs=bugs, builds=builds, findings=findings, apis=apis))
        rows = [_written(folder, name, options) for name, options in (("folder", []), ("one file", ["--single"]))]
    return Measurement(rows)


def _written(state: Path, form: str, options: list[str]) -> dict[str, object]:
    site = state / form.replace(" ", "-")
    code = "from nightfuzz.bot.main import main; main()"
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", code, "dashboard", str(site), "--state", str(state), *options])
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - began
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    return {
        "form": form,
        "exit": os.waitstatus_to_exitcode(status),
        "seconds": round(seconds, 1),
        "cpu seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "memory MB": usage.ru_maxrss // 1024,
        "site MB": round(size / 1e6, 1),
    }
