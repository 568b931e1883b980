"""What fuzz jobs have left, as files to be checked: they ran untrusted code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.jobs.workspace import PRIVATE
from nightfuzz.bot.state.keeping import Brought
from nightfuzz.bot.state.packing import unpack
from nightfuzz.bot.state.place import STATE

PACKED_BYTES = 1 << 30
SEALED_BYTES = 256 << 20


def brought(folders: Sequence[Path], scratch: Path) -> tuple[Brought, tuple[str, ...]]:
    """The state files of some shards, unpacked into `scratch`, and their encrypted parts; with what was refused."""
    states, sealed, problems = [], [], []
    for number, folder in enumerate(folders):
        path = scratch / f"raw-{number}.db"
        try:
            unpack(_packed(folder), path)
            states.append(path)
            sealed += _sealed(folder)
        except UserError as error:
            problems.append(f"shard {number + 1}: {error.problem}")
    return Brought(states, sealed), tuple(problems)


def _packed(folder: Path) -> list[bytes]:
    """The parts of a packed state. Raises UserError where there is none, or one is a link or too large."""
    found = sorted(folder.glob(f"{STATE}*"), key=lambda path: (len(path.name), path.name))
    if not found or any(path.is_symlink() for path in found):
        raise UserError("there is no packed state", "run the fuzz job again")
    if sum(path.stat().st_size for path in found) > PACKED_BYTES:
        raise UserError(f"the packed state is larger than {PACKED_BYTES >> 20} MiB", "run the fuzz job again")
    return [path.read_bytes() for path in found]


def _sealed(folder: Path) -> list[bytes]:
    path = folder / PRIVATE
    if path.is_symlink() or not path.is_file():
        return []
    if path.stat().st_size > SEALED_BYTES:
        raise UserError(f"{PRIVATE} is larger than {SEALED_BYTES >> 20} MiB", "run the fuzz job again")
    return [path.read_bytes()]
