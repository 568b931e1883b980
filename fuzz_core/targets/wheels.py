"""Downloaded wheels, verified and kept in a folder of bounded size that environments share.

Wheels are fetched over HTTP, and a cut download is resumed.

`ROOT/KEY/FILE` is the file. `ROOT/KEY/wheel.json` holds the index's facts about it and is written last: a folder
without it does not count.
"""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from urllib.parse import urlsplit
from urllib.request import url2pathname

import requests
from filelock import Timeout
from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from fuzz_core.ir.errors import UserError
from fuzz_core.targets import index
from fuzz_core.targets.artifact import Artifact, sha256_of
from fuzz_core.targets.installer import IndexUnreachable
from fuzz_core.targets.record import cache_folder, lock_of

BOUND_BYTES = 20_000_000_000
_META = "wheel.json"
# The locks lie in a hidden folder.
_FOLDERS = "[!.]*"
TIMEOUT_S = 60.0
TRIES = 5
# Bytes of a download that a cut connection loses, at most.
_CHUNK = 1 << 16
# Some file stores answer 403 for a missing file, so that a client cannot learn which files exist.
_GONE = (403, 404, 410)


class MissingFileError(UserError):
    """A file that its index lists can't be had any more."""


def wheels_root() -> Path:
    """Return the folder of the wheels: NIGHTFUZZ_CACHE/wheels, else under the user's cache directory."""
    return cache_folder() / "wheels"


@dataclass(frozen=True)
class _Kept:
    """A wheel in the cache folder."""

    artifact: Artifact  # the record of the index
    content: str  # the SHA-256 of the downloaded file, which is checked at every use


@contextmanager
def held(artifact: Artifact, bound: int = BOUND_BYTES) -> Iterator[Path]:
    """Yield the file of an artifact, verified; it stays while the context lasts.

    The file is downloaded unless it is on this machine.

    Afterwards the least recently used go until all take at most `bound` bytes.

    Raises:
        MissingFileError: the file is gone.
        IndexUnreachable: the network fails.
        UserError: the file is damaged or no archive.
    """
    if artifact.url.startswith("file:"):
        yield _of_this_machine(artifact)
        return
    root = wheels_root()
    with lock_of(root, artifact.key):
        path = _verified(root, artifact) or _fetched(root, artifact)
        os.utime(path.parent / _META)
        _evict(root, bound, artifact.key)
        yield path


def _of_this_machine(artifact: Artifact) -> Path:
    path = Path(url2pathname(urlsplit(artifact.url).path))
    if not path.is_file():
        raise MissingFileError(
            f"the index lists {artifact.filename}, but the file is gone from {path.parent}",
            "name another version of the package",
        )
    if problem := _mismatch(artifact, path, sha256_of(path)):
        raise UserError(f"{artifact.filename} is damaged: {problem}", "name another version of the package")
    return path


def cached() -> list[Artifact]:
    """Return the artifacts of the kept wheels, as their index described them when they were downloaded."""
    read = [_read(folder) for folder in sorted(wheels_root().glob(_FOLDERS))]
    return [known.artifact for known in read if known is not None]


def _read(folder: Path) -> _Kept | None:
    try:
        known = TypeAdapter(_Kept).validate_json((folder / _META).read_bytes())
    except (OSError, ValueError):
        return None
    return known if (folder / known.artifact.filename).is_file() else None


def _verified(root: Path, artifact: Artifact) -> Path | None:
    """Return the file that is here if its content is still the downloaded one.

    A changed file is removed.
    """
    folder = root / artifact.key
    if (known := _read(folder)) is None:
        return None
    path = folder / known.artifact.filename
    if path.name == artifact.filename and sha256_of(path) == known.content:
        return path
    shutil.rmtree(folder, ignore_errors=True)
    return None


def _fetched(root: Path, artifact: Artifact) -> Path:
    folder = root / artifact.key
    try:
        folder.mkdir(exist_ok=True)
        path = folder / artifact.filename
        digest = fetch(artifact, path)
        _refuse_broken(path)
        temporary = folder / f"{_META}.new"
        temporary.write_bytes(TypeAdapter(_Kept).dump_json(_Kept(artifact, digest)))
        temporary.replace(folder / _META)
    except OSError as error:
        raise UserError(
            f"{artifact.filename} cannot be kept in {folder}: {error.strerror}",
            "make the folder writable, or set NIGHTFUZZ_CACHE to another disk",
        ) from error
    return path


def _refuse_broken(path: Path) -> None:
    """Raise UserError for a wheel that is no whole archive.

    A hash that fits proves that the file is the index's, not that the index has it whole.
    """
    problem = ""
    try:
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                if not any(name.endswith(".dist-info/METADATA") for name in archive.namelist()):
                    problem = "the wheel has no metadata"
        elif not tarfile.is_tarfile(path) and not zipfile.is_zipfile(path):
            problem = "the file is not an archive"
    except zipfile.BadZipFile as error:
        problem = str(error)
    if problem:
        path.unlink()
        raise UserError(
            f"{path.name} is damaged: {problem}",
            "name another version of the package: the index itself has the damaged file",
        )


def _evict(root: Path, bound: int, keep: str) -> None:
    """Remove the least recently used wheels first; a wheel that another process holds stays."""
    sizes = {folder: _size(folder) for folder in root.glob(_FOLDERS)}
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
    # Another process may be removing or renaming the listed files.
    with suppress(FileNotFoundError):
        return sum(each.stat().st_size for each in folder.iterdir())
    return 0


def _last_use(folder: Path) -> float:
    for each in (folder / _META, folder):
        with suppress(FileNotFoundError):
            return each.stat().st_mtime
    return 0.0


def fetch(artifact: Artifact, path: Path) -> str:
    """Download a file and return its SHA-256.

    If an earlier try left `path` + `.part`, resume it.

    Raises:
        MissingFileError: the file is gone.
        IndexUnreachable: the network fails.
        UserError: the content is not the one that the index names; the download is then removed.
    """
    part = path.with_name(f"{path.name}.part")
    resumed = part.exists()
    digest = _whole(artifact, part)
    if problem := _mismatch(artifact, part, digest):
        part.unlink()
        if resumed:
            # The part of an earlier try may be of a file that has been replaced since: start again once.
            return fetch(artifact, path)
        raise UserError(
            f"{artifact.filename} is damaged: {problem}",
            "run the command again later, or name another version of the package",
        )
    part.replace(path)
    return digest


def _mismatch(artifact: Artifact, part: Path, digest: str) -> str:
    """Return how a file differs from what its index says of it; empty where it does not."""
    size = part.stat().st_size
    if artifact.size is not None and size != artifact.size:
        return f"the index says {artifact.size} bytes, {size} came"
    if artifact.sha256 is not None and digest != artifact.sha256:
        return f"the index says SHA-256 {artifact.sha256[:12]}…, {digest[:12]}… came"
    return ""


def _whole(artifact: Artifact, part: Path) -> str:
    with index.session() as session:
        for attempt in range(1, TRIES + 1):
            try:
                _more(artifact, part, session)
                break
            except requests.RequestException as error:
                refused = error.response is not None and error.response.status_code < 500
                if refused or attempt == TRIES:
                    raise IndexUnreachable(
                        f"{artifact.filename} cannot be downloaded: {index.reason(error)}",
                        "check the network, and run the command again: the download continues",
                    ) from error
                sleep(2.0 ** (attempt - 1))
    return sha256_of(part)


def _more(artifact: Artifact, part: Path, session: requests.Session) -> None:
    """Send one request for the missing part, or for the whole file.

    The part suffices if a part is here and a hash can verify the whole.
    """
    have = part.stat().st_size if artifact.sha256 and part.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with session.get(artifact.url, headers=headers, stream=True, timeout=TIMEOUT_S) as answer:
        if answer.status_code in _GONE:
            raise MissingFileError(
                f"the index lists {artifact.filename}, but the file is gone (HTTP {answer.status_code})",
                "name another version of the package",
            )
        if answer.status_code == 416:
            # The part is the whole file, or its hash will show that it is not.
            return
        answer.raise_for_status()
        with part.open("ab" if answer.status_code == 206 else "wb") as file:
            for chunk in answer.iter_content(_CHUNK):
                file.write(chunk)
