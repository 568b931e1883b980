"""Made targets on disk: `ROOT/KEY/target.json` says that one is complete, beside it lies its environment."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from filelock import FileLock
from platformdirs import user_cache_path
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass
from rapidfuzz import process as nearest

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.artifact import Artifact
from fuzz_core.targets.facts import TargetInfo

SCHEMA = 1
CACHE_VARIABLE = "NIGHTFUZZ_CACHE"
_RECORD = "target.json"


@dataclass(frozen=True)
class BuildOrigin:
    """The source of a build from an index."""

    artifact: Artifact
    day: str  # ISO date or empty; `dated_by` names its source
    dated_by: str
    commit: str  # hexadecimal digits of the source commit or empty; `commit_by` names its source in words
    commit_by: str


@dataclass(frozen=True)
class Target:
    """An installed build.

    `wanted` is the flavour that was asked for, `info.flavour` the flavour that is installed. `notes` describe the
    difference for the user.
    """

    key: str
    spec: str
    library: str
    python: Path
    version: str
    wanted: str
    info: TargetInfo
    notes: tuple[str, ...] = ()
    origin: BuildOrigin | None = None  # for builds chosen from an index

    def summary(self) -> str:
        """Describe the installed build in one line."""
        info = self.info
        commit = f" (commit {info.commit})" if info.commit else ""
        if (origin := self.origin) is not None:
            day = (
                f"{'built' if origin.dated_by == 'version' else 'uploaded'} {origin.day}"
                if origin.day
                else "date unknown"
            )
            source = f"commit {origin.commit} by {origin.commit_by}" if origin.commit else "source commit unknown"
            commit = f" ({day}, {source})"
        build = f"CUDA {info.cuda} build" if info.cuda else "CPU build"
        return (
            f"{self.library} {self.version}{commit}, {build}, Python {info.python}, numpy {info.numpy}, "
            f"devices: {', '.join(info.devices)}"
        )

    def facts(self) -> dict[str, Any]:
        """Return the facts that the store keeps of the target beside its names: JSON-able."""
        said = {"summary": self.summary(), "notes": list(self.notes), "devices": list(self.info.devices)}
        return said | {"origin": to_json(self)["origin"], "commit": self.info.commit, "flavour": self.info.flavour}


def to_json(target: Target) -> dict[str, Any]:
    """Return the record as JSON data, without the passwords that an address may hold."""
    data: dict[str, Any] = TypeAdapter(Target).dump_python(target, mode="json")
    return data


def cache_folder() -> Path:
    """Return the cache folder: NIGHTFUZZ_CACHE, else a folder under the user's cache directory."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else user_cache_path("nightfuzz")


def targets_root(root: Path | None = None) -> Path:
    """Return the folder of the targets: `root`, else the folder `targets` of the cache."""
    return root.absolute() if root is not None else cache_folder() / "targets"


def lock_of(root: Path, key: str) -> FileLock:
    """Return the lock on one target.

    Its file stays: removing it would let two holders lock two files of one name.

    Raises:
        UserError: the cache can't be written.
    """
    locks = root / ".locks"
    try:
        locks.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=locks):
            pass
    except OSError as error:
        raise UserError(
            f"targets cannot be kept in {root}: {error.strerror}",
            f"make the folder writable, or set {CACHE_VARIABLE} to another folder",
        ) from error
    return FileLock(locks / f"{key}.lock")


def write_record(root: Path, target: Target) -> None:
    """Declare a target complete: the last step of making one, atomic."""
    data = to_json(target) | {"schema": SCHEMA}
    handle, temporary = tempfile.mkstemp(dir=root / target.key, prefix=_RECORD)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
    os.replace(temporary, root / target.key / _RECORD)  # noqa: PTH105 - named by the house: temp file + os.replace


def read_record(root: Path, key: str) -> Target | None:
    """Return the complete target of that key; None where it is missing, unfinished, damaged or of another schema."""
    try:
        data = json.loads((root / key / _RECORD).read_text(encoding="utf-8"))
        target = TypeAdapter(Target).validate_python(data)
        current = data["schema"] == SCHEMA
    except (OSError, ValueError, KeyError):
        return None
    # A link into an interpreter that has been uninstalled since is there, but leads nowhere.
    return target if current and target.key == key and target.python.exists() else None


def list_targets(root: Path | None = None) -> list[Target]:
    """Return every complete target under the root, by key."""
    home = targets_root(root)
    keys = sorted(each.name for each in home.iterdir() if each.is_dir()) if home.is_dir() else []
    return [target for key in keys if (target := read_record(home, key)) is not None]


def remove(key: str, root: Path | None = None) -> None:
    """Remove a target and its environment (never an interpreter of the user's).

    Raises:
        UserError: there is no such target.
    """
    home = targets_root(root)
    # A key must be the plain name of a folder there: an empty key, or `..`, would delete more than a target.
    if not key or key.startswith(".") or Path(key).name != key or not (home / key).is_dir():
        best = nearest.extractOne(key, [target.key for target in list_targets(home)])
        remedy = f"did you mean {best[0]}?" if best else "make a target with `nightfuzz pull`"
        raise UserError(f"{home} has no target {key!r}", remedy)
    with lock_of(home, key):
        clear(home, key)


def clear(root: Path, key: str) -> None:
    """Remove what is there of a target; the caller holds its lock."""
    folder = root / key
    # The record goes first: if the process is killed half-way, the folder counts as unfinished.
    (folder / _RECORD).unlink(missing_ok=True)
    # An installer that outlived its killed parent may still write there; a leftover of that is swept the next time.
    shutil.rmtree(folder, ignore_errors=True)
