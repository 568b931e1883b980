"""Temporary folders that go when their owner does, even when it was killed."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from fuzz_core.ir.errors import UserError

PREFIX = "nightfuzz-"
LOCK = "owner.lock"
# A folder has no lock file for the instant between the two system calls that make them.
UNLOCKED_SECONDS = 3600.0
_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)


class NoSpace(UserError):  # noqa: N818 - named for what is wrong
    """The temporary directory is full."""


class Scratch:
    """A fresh folder in the temporary directory; the lock on a file in it lasts as long as this process."""

    def __init__(self) -> None:
        with explained(Path(tempfile.gettempdir())):
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            try:
                self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
            except BaseException:
                remove(self.path)
                raise

    def close(self) -> None:
        """Remove the folder."""
        remove(self.path)
        os.close(self._lock)


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield the path of a scratch folder for the length of a block."""
    made = Scratch()
    try:
        yield made.path
    finally:
        made.close()


def sweep() -> int:
    """Remove the folders of controllers that were killed, and return how many there were.

    A folder is in use as long as a process holds its lock, so two runs at once leave each other's folder alone.
    """
    found = 0
    for folder in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        with suppress(OSError):
            if folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == os.getuid():
                found += _sweep_one(folder)
    return found


def _sweep_one(folder: Path) -> bool:
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        if time.time() - folder.stat().st_mtime < UNLOCKED_SECONDS:
            return False
        remove(folder)
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(folder)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(lock)


def remove(folder: Path) -> None:
    """Remove a folder with all that untrusted code has put into it; what resists even so is left."""
    with suppress(RecursionError):
        shutil.rmtree(folder, onerror=partial(_open_up, folder))
        return
    subprocess.run(["rm", "-rf", "--", str(folder)], check=False, stderr=subprocess.DEVNULL)


def _open_up(folder: Path, function: Callable[..., object], path: str, error: object) -> None:
    """Open a directory that a process has closed, and try the failed removal again.

    The folder around this directory belongs to other users, so its mode stays.
    """
    with suppress(OSError):
        for each in (Path(path).parent, Path(path)):
            if each.is_relative_to(folder) and not each.is_symlink():
                each.chmod(0o700)
        if function in (os.unlink, os.rmdir):
            function(path)
        elif Path(path).is_dir():
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what a user can mend about the temporary directory into UserError (NoSpace where it is full)."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise NoSpace(
                f"no space left in the temporary directory {folder}",
                "free some space, or set TMPDIR to another disk, and run again; all findings so far are kept",
            ) from error
        if error.errno in _REFUSED:
            raise UserError(
                f"the temporary directory {folder} cannot be written ({error.strerror})",
                "make the directory writable, or set TMPDIR to another directory",
            ) from error
        raise


def usage(folder: Path, enough: int) -> int:
    """Return bytes on disk below a folder; counting ends once there are `enough` (or very many entries)."""
    total, waiting, entries = 0, [folder], 0
    while waiting and total < enough and entries < 20_000:
        with suppress(OSError), os.scandir(waiting.pop()) as listing:
            for entry in listing:
                entries += 1
                with suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(Path(entry.path))
    return total if entries < 20_000 else enough
