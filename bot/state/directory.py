"""The state in a directory: of a runner that stays, or of an artifact that goes from job to job."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.state.place import FOREIGN, MAX_FILE, Files, FilesUpdate, Snapshot, checked, is_ours, marked

LOCK_SECONDS = 600.0
CURRENT = "current"
_LOCK, _FOLDER = ".lock", "state-"


class StateDirectory:
    """A directory that several jobs of one machine share: one of them writes at a time, and readers see no half of it.

    A state is a folder of its own; the file `current` names the current state. The directory is not public, so private
    parts lie in it unencrypted.
    """

    confidential = True

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> Snapshot | None:
        """Load the files of the directory.

        Raises:
            UserError: not readable, or not written by nightfuzz.
        """
        if not self.path.is_dir():
            return None
        with self._alone():
            return self._load()

    def _load(self) -> Snapshot | None:
        pointer = self.path / CURRENT
        if not pointer.exists():
            self._refuse_foreign()
            return None
        name = pointer.read_text(encoding="utf-8", errors="replace").strip()
        if not name.startswith(_FOLDER) or "/" in name:
            raise UserError(f"{pointer} does not name a state: {name[:80]!r}", FOREIGN)
        files = read_files(self.path / name)
        if not is_ours(files):
            raise UserError(f"{self.path / name} was not written by nightfuzz", FOREIGN)
        return Snapshot(files, name)

    def _refuse_foreign(self) -> None:
        if self.path.is_dir() and any(not each.name.startswith((_LOCK, _FOLDER)) for each in self.path.iterdir()):
            raise UserError(
                f"{self.path} holds files that nightfuzz has not written",
                "set state-path to the path of an empty directory",
            )

    def store(self, build: FilesUpdate, message: str) -> Snapshot:
        """Store the files under a lock, with one call of `build`.

        Raises:
            UserError: not writable, or locked.
        """
        with self._alone():
            return self._replace(marked(build(self._load())))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with FileLock(self.path / _LOCK, timeout=LOCK_SECONDS):
                yield
        except Timeout:
            raise UserError(
                f"another job has held the lock {self.path / _LOCK} for {LOCK_SECONDS:.0f} s",
                "wait until that job ends, or cancel it, and run this job again",
            ) from None
        except OSError as error:
            remedy = "make the directory writable, or set state-path to the path of another directory"
            raise UserError(f"cannot read or write {self.path}: {error.strerror}", remedy) from error

    def _replace(self, files: Files) -> Snapshot:
        name = f"{_FOLDER}{_digest(files)}"
        # A job that was killed may have left half of this state.
        shutil.rmtree(self.path / name, ignore_errors=True)
        write_files(self.path / name, files)
        fresh = self.path / f"{_FOLDER}{CURRENT}"
        fresh.write_text(f"{name}\n", encoding="utf-8")
        fresh.replace(self.path / CURRENT)
        for old in self.path.glob(f"{_FOLDER}*"):
            if old.name != name:
                shutil.rmtree(old)
        return Snapshot(files, name)

    def set_aside(self, snapshot: Snapshot) -> str:
        """Keep the files of a snapshot in a directory beside this one; return its path."""
        kept = self.path.with_name(f"{self.path.name}-broken-{_digest(snapshot.files)}")
        write_files(kept, snapshot.files)
        return str(kept)


def _digest(files: Files) -> str:
    parts = [f"{name}\0{sha256(data).hexdigest()}" for name, data in sorted(files.items())]
    return sha256("\0".join(parts).encode()).hexdigest()[:12]


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder and of its subfolders, as an artifact brings them.

    Raises:
        UserError: a link, a name or size that no state has, or an unreadable file.
    """
    try:
        found = {path.relative_to(folder).as_posix(): path.lstat() for path in sorted(folder.rglob("*"))}
    except OSError as error:
        raise UserError(
            f"cannot read {folder.name}: {error.strerror}",
            "download the artifact of this run again, or run the job again that made the artifact",
        ) from error
    plain = {name: about.st_size for name, about in found.items() if not stat.S_ISDIR(about.st_mode)}
    for name in plain:
        if not stat.S_ISREG(found[name].st_mode):
            raise UserError(f"{folder.name} has a link or device: {name[:100]!r}", FOREIGN)
    checked(plain.items(), folder.name)
    return {name: _read(folder / name) for name in plain}


def _read(path: Path) -> bytes:
    try:
        # Not a link that took its place since, and no more than was looked at.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            return file.read(MAX_FILE)
    except OSError as error:
        raise UserError(
            f"cannot read {path.name}: {error.strerror}",
            "download the artifact of this run again, or run the job again that made the artifact",
        ) from error


def write_files(folder: Path, files: Files) -> None:
    """Write files into a folder; one of another name that is there stays."""
    checked((name, len(data)) for name, data in files.items())
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.new")
        fresh.write_bytes(data)
        fresh.replace(path)
