"""State files of untrusted jobs, each checked in a process of its own: all at once, and away from tokens.

`python -m bot.state.taking RAW CLEAN KNOWN` is such a process. It says in JSON what came of it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fuzz_core.adapters import ADAPTERS_VARIABLE
from fuzz_core.ir.errors import UserError
from fuzz_core.store.intake import take_in

SECONDS = 1800
_PASSED = ("PATH", "LD_LIBRARY_PATH", "TMPDIR", ADAPTERS_VARIABLE)


class Taken(NamedTuple):
    """dropped: rows that no store would have written, by reason. problem: why the whole file is none of ours."""

    dropped: Mapping[str, int]
    problem: str = ""


def taken_in(raw: Sequence[Path], clean: Sequence[Path], known: Path) -> list[Taken]:
    """Takes in several files at once. known: as for `take_in`."""
    python = (sys.executable, "-P", "-m", __name__)
    commands = [[*python, *map(str, (*each, known))] for each in zip(raw, clean, strict=True)]
    # What a state may speak of depends on which libraries' packages are installed.
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {name: os.environ[name] for name in _PASSED if name in os.environ}
    begun = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for command in commands]
    return [_ended(process) for process in begun]


def _ended(process: subprocess.Popen[bytes]) -> Taken:
    with process:
        try:
            told, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return Taken({}, f"reading it took longer than {SECONDS} seconds")
    if process.returncode:
        return Taken({}, f"reading it ended with exit code {process.returncode}: see the log")
    return Taken(**json.loads(told))


def main(raw: str, clean: str, known: str) -> None:
    """Takes in one file."""
    try:
        told = Taken(take_in(Path(raw), Path(clean), Path(known)).dropped)
    except UserError as error:
        told = Taken({}, error.problem)
    print(json.dumps(told._asdict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
