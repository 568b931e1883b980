"""State files of untrusted jobs: within bounds, and each checked in a process of its own, away from tokens.

`python -m nightfuzz.bot.state.shards RAW CLEAN KNOWN` is such a process. The process prints its result as JSON.
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
from nightfuzz.bot.state.place import STATE, unpack
from nightfuzz.reports.artifact import read_plain

SEALED = "private.age"
PACKED_BYTES = 1 << 30
SEALED_BYTES = 256 << 20
SECONDS = 1800
_PASSED = ("PATH", "LD_LIBRARY_PATH", "TMPDIR", ADAPTERS_VARIABLE)


class Shards(NamedTuple):
    """Results of untrusted jobs: state files and encrypted parts.

    Attributes:
        names: of the shards that the state files are of.
    """

    states: Sequence[Path] = ()
    sealed: Sequence[bytes] = ()
    names: Sequence[str] = ()


class ShardIntake(NamedTuple):
    """The result of the intake of one shard's state file.

    Attributes:
        dropped: rows that no store would have written, by reason.
        problem: why the whole file is none of ours.
    """

    dropped: Mapping[str, int]
    problem: str = ""


def take_in_all(raw: Sequence[Path], clean: Sequence[Path], known: Path) -> list[ShardIntake]:
    """Take in several files at once.

    Args:
        known: as for `take_in`.
    """
    python = (sys.executable, "-P", "-m", __name__)
    commands = [[*python, *map(str, (*each, known))] for each in zip(raw, clean, strict=True)]
    # The valid names in a state depend on which libraries' packages are installed.
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= {name: os.environ[name] for name in _PASSED if name in os.environ}
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for command in commands]
    return [_result_of(process) for process in processes]


def _result_of(process: subprocess.Popen[bytes]) -> ShardIntake:
    with process:
        try:
            answer, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return ShardIntake({}, f"its state was not read within {SECONDS} seconds")
    if process.returncode:
        return ShardIntake(
            {}, f"the check of its state ended with exit code {process.returncode}; the log of this job says why"
        )
    return ShardIntake(**json.loads(answer))


def read_shards(folders: Sequence[tuple[str, Path]], scratch: Path) -> tuple[Shards, tuple[str, ...]]:
    """Return the state files of some shards, unpacked into `scratch`, and their encrypted parts; with what was refused.

    Args:
        folders: each with the name of its shard.
    """
    states, sealed, names, problems = [], [], [], []
    for number, (name, folder) in enumerate(folders):
        path = scratch / f"raw-{number}.db"
        try:
            unpack(_packed(folder), path)
            states.append(path)
            names.append(name)
            sealed += _sealed(folder)
        except UserError as error:
            problems.append(f"{name} is damaged: {error.problem}")
    return Shards(states, sealed, names), tuple(problems)


def _packed(folder: Path) -> list[bytes]:
    """Return the parts of a packed state.

    Raises:
        UserError: there is none, or one is a link or too large.
    """
    found = sorted(folder.glob(f"{STATE}*"), key=lambda path: (len(path.name), path.name))
    if not found:
        raise UserError(f"the results in {folder} have no packed state ({STATE}…)", "run the fuzz job again")
    packed: list[bytes] = []
    for path in found:
        packed.append(read_plain(path, PACKED_BYTES - sum(map(len, packed))))
    return packed


def _sealed(folder: Path) -> list[bytes]:
    try:
        return [read_plain(folder / SEALED, SEALED_BYTES)]
    except FileNotFoundError:
        return []


def main(raw: str, clean: str, known: str) -> None:
    """Take in one file."""
    try:
        answer = ShardIntake(take_in(Path(raw), Path(clean), Path(known)).dropped)
    except UserError as error:
        answer = ShardIntake({}, error.problem)
    print(json.dumps(answer._asdict()))


if __name__ == "__main__":
    main(*sys.argv[1:])
