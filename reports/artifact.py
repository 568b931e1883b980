"""Files that an untrusted job has left in an artifact: no link is followed to read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from fuzz_core.execution.scratch import remove
from fuzz_core.ir.errors import UserError

DEEP = 3
_REMEDY = "run the fuzz job again: it writes plain files"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Opening a pipe must not wait for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


def read_plain(path: Path, most: int, root: Path | None = None) -> bytes:
    """Return the content of a file of at most `most` bytes.

    Args:
        path: the file.
        most: the largest size that is read, in bytes.
        root: the folder that the artifact was unpacked into; no part of the path below it may be a link. None for the
            folder of the file.

    Raises:
        UserError: the path is a link or a hard link, is no plain file, or the file is too large.
        OSError: the file does not exist.
    """
    root = root or path.parent
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        *parts, name = path.relative_to(root).parts
        for part in parts:
            inner = _opened(part, _FOLDER, folder)
            os.close(folder)
            folder = inner
        with os.fdopen(_opened(name, _FILE, folder), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode) or state.st_nlink != 1:
                raise UserError(f"{name} is a link, or no plain file", _REMEDY)
            if state.st_size > most:
                raise UserError(f"{name} is larger than {most >> 20} MiB", _REMEDY)
            return file.read(most)
    finally:
        os.close(folder)


def fresh_folder(path: Path) -> Path:
    """Replace what an artifact left at this path, such as a link, by an empty folder.

    Returns:
        Its path.
    """
    path.unlink() if path.is_symlink() or path.is_file() else remove(path)
    path.mkdir(parents=True)
    return path


def _opened(name: str, flags: int, folder: int) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise UserError(f"{name} is a link, or no plain file", _REMEDY) from error


def folders_with(name: str, root: Path, deep: int = DEEP) -> Iterator[Path]:
    """Yield the folders at most `deep` levels down that have a file `name`, whichever way the artifacts were unpacked.

    No folder that is a link is looked into.
    """
    if (root / name).is_file() and not (root / name).is_symlink():
        yield root
    if deep > 1 and root.is_dir():
        for folder in sorted(path for path in root.iterdir() if path.is_dir() and not path.is_symlink()):
            yield from folders_with(name, folder, deep - 1)
