"""Downloaded wheels: kept in a folder of bounded size, verified, shared between environments.

`ROOT/KEY/FILE` is the file, `ROOT/KEY/wheel.json` what the index said of it, written last: without it there is nothing.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from filelock import Timeout
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.artifact import Artifact, sha256_of
from fuzz_core.targets.download import Fetcher, Vanished, fetch, mismatch
from fuzz_core.targets.record import cache_folder, lock_of

BOUND_BYTES = 20_000_000_000
_META = "wheel.json"


def wheels_root() -> Path:
    """Where wheels are kept: NIGHTFUZZ_CACHE/wheels, else under the user's cache directory."""
    return cache_folder() / "wheels"


@dataclass(frozen=True)
class _Kept:
    """artifact: what the index said. content: the SHA-256 of the file that came, which is checked at every use."""

    artifact: Artifact
    content: str


@contextmanager
def held(artifact: Artifact, fetcher: Fetcher, bound: int = BOUND_BYTES) -> Iterator[Path]:
    """The file of an artifact, downloaded unless it is on this machine, verified; it stays while the context lasts.

    Afterwards the least recently used go until all take at most `bound` bytes. Raises as download.fetch does, and
    UserError where the file is no archive.
    """
    if artifact.url.startswith("file:"):
        yield _of_this_machine(artifact)
        return
    root = wheels_root()
    with lock_of(root, artifact.key):
        path = _verified(root, artifact) or _fetched(root, artifact, fetcher)
        os.utime(path.parent / _META)
        _evict(root, bound, artifact.key)
        yield path


def _of_this_machine(artifact: Artifact) -> Path:
    path = Path(url2pathname(urlsplit(artifact.url).path))
    if not path.is_file():
        raise Vanished(f"{artifact.filename} is listed, but gone from {path.parent}", "choose another build")
    if problem := mismatch(artifact, path, sha256_of(path)):
        raise UserError(f"{artifact.filename} is damaged: {problem}", "choose another build")
    return path


def cached() -> list[Artifact]:
    """What is here, by what its index said when it was downloaded."""
    read = [_read(folder) for folder in _folders(wheels_root())]
    return [known.artifact for known in read if known is not None]


def _folders(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    return sorted(each for each in root.iterdir() if each.is_dir() and not each.name.startswith("."))


def _read(folder: Path) -> _Kept | None:
    try:
        known = TypeAdapter(_Kept).validate_json((folder / _META).read_bytes())
    except (OSError, ValueError):
        return None
    return known if (folder / known.artifact.filename).is_file() else None


def _verified(root: Path, artifact: Artifact) -> Path | None:
    """The file that is here, if it still is what was downloaded; else nothing is left of it."""
    folder = root / artifact.key
    if (known := _read(folder)) is None:
        return None
    path = folder / known.artifact.filename
    if path.name == artifact.filename and sha256_of(path) == known.content:
        return path
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _fetched(root: Path, artifact: Artifact, fetcher: Fetcher) -> Path:
    folder = root / artifact.key
    try:
        folder.mkdir(exist_ok=True)
        path = folder / artifact.filename
        digest = fetch(artifact, path, fetcher)
        _refuse_broken(path)
        temporary = folder / f"{_META}.new"
        temporary.write_bytes(TypeAdapter(_Kept).dump_json(_Kept(artifact, digest)))
        temporary.replace(folder / _META)
    except OSError as error:
        raise UserError(
            f"{artifact.filename} can't be kept in {folder}: {error.strerror}", "check that disk"
        ) from error
    return path


def _refuse_broken(path: Path) -> None:
    """A hash that fits says that the file is the index's, not that it is whole there."""
    if problem := _problem_of_wheel(path) if path.suffix == ".whl" else _problem_of_archive(path):
        path.unlink()
        raise UserError(f"{path.name} is damaged: {problem}", "it is broken in its index: choose another build")


def _problem_of_wheel(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            whole = any(name.endswith(".dist-info/METADATA") for name in archive.namelist())
    except zipfile.BadZipFile as error:
        return str(error)
    return "" if whole else "it has no metadata"


def _problem_of_archive(path: Path) -> str:
    return "" if tarfile.is_tarfile(path) or zipfile.is_zipfile(path) else "it is no archive"


def _evict(root: Path, bound: int, keep: str) -> None:
    """Oldest use first; what another process holds at the moment stays."""
    sizes = {folder: _size(folder) for folder in _folders(root)}
    total = sum(sizes.values())
    for folder in sorted((each for each in sizes if each.name != keep), key=_last_use):
        if total <= bound:
            return
        try:
            with lock_of(root, folder.name).acquire(timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
                total -= sizes[folder]
        except Timeout:
            continue


def _size(folder: Path) -> int:
    # Another process may be removing or renaming what is listed here.
    with suppress(FileNotFoundError):
        return sum(each.stat().st_size for each in folder.iterdir())
    return 0


def _last_use(folder: Path) -> float:
    for each in (folder / _META, folder):
        with suppress(FileNotFoundError):
            return each.stat().st_mtime
    return 0.0
