"""Unpacking of an archive that others made, on every Python from 3.11.0 on: tarfile's own filter came with 3.11.4."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath


def extract(archive: tarfile.TarFile, members: Sequence[tarfile.TarInfo], folder: Path) -> None:
    """Write files, folders and links into an existing empty folder.

    Members of another kind and links to the outside are left out; owners, times and special modes are dropped.

    Raises:
        tarfile.TarError: a path leads out, a link lies below a link, or the archive is damaged.
        OSError: a file cannot be written.
    """
    linked = {PurePosixPath(member.name) for member in members if member.issym()}
    for member in members:
        through_link = member.issym() and linked & {*PurePosixPath(member.name).parents}
        if through_link or not _is_inside(member.name):
            raise tarfile.TarError(f"{member.name!r} leads out of the archive")
    for member in members:
        if member.isdir():
            (folder / member.name).mkdir(parents=True, exist_ok=True)
        elif member.isreg():
            _write(archive, member, folder / member.name)
    # Links come last, so that no file is written through one.
    links = [_link(member, folder / member.name) for member in members if member.issym()]
    _remove_leading_out(links, folder.resolve())


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    source = archive.extractfile(member)
    if source is not None:
        with source, file.open("wb") as stream:
            shutil.copyfileobj(source, stream)
    file.chmod(0o755 if member.mode & 0o100 else 0o644)


def _link(member: tarfile.TarInfo, file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() and not file.is_symlink():
        file.symlink_to(member.linkname)
    return file


def _remove_leading_out(links: Sequence[Path], root: Path) -> None:
    """Remove the links that lead out of `root`.

    A link may change other links, so the check repeats.
    """
    while wrong := [link for link in links if link.is_symlink() and not _resolves_inside(link, root)]:
        for link in wrong:
            link.unlink()


def _resolves_inside(link: Path, root: Path) -> bool:
    try:
        return not Path(link.readlink()).is_absolute() and link.resolve().is_relative_to(root)
    except (OSError, RuntimeError):
        return False
