"""The caller's sources on their way from the plan job to the fuzz jobs."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Sequence
from enum import Enum
from pathlib import Path, PurePosixPath

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.git import git_in
from nightfuzz.bot.jobs.archive import extract
from nightfuzz.bot.jobs.settings import BASE
from nightfuzz.bot.jobs.workspace import BASE_FILES, CHANGED, SOURCES, Workspace

SOURCE_BYTES, SOURCE_FILES = 2 << 30, 200_000
LIMIT = f"the limit is {SOURCE_FILES:,} files with {SOURCE_BYTES >> 30} GiB"
# Files that a note names at most.
NAMED = 5
LFS = b"version https://git-lfs.github.com/spec/"


def pack_sources(workspace: Path, archive: Path) -> tuple[str, ...]:
    """Pack the tracked files as they are checked out, those of submodules too.

    No `.git` goes in, so no credentials; no file that is not tracked, and no link that leads out of the checkout.

    Returns:
        Notes for the summary: what is tracked but not checked out, and how to get it.

    Raises:
        UserError: `workspace` is no checkout, or its files are too many or too large.
    """
    listed = git_in(workspace, "ls-files", "-z", "--cached", "--recurse-submodules")
    if listed.code:
        raise UserError(
            f"the sources in {workspace} cannot be packed: {listed.message}",
            "check out the repository with actions/checkout before this step",
        )
    root = workspace.resolve()
    names = dict.fromkeys(os.fsdecode(name) for name in listed.output.split(b"\0") if name)
    absent: dict[Absence, list[str]] = {}
    size = 0
    with tarfile.open(archive, "w") as packed:
        for number, name in enumerate(names):
            if absence := _absence(root, name):
                absent.setdefault(absence, []).append(name)
            if absence in (None, Absence.POINTER):
                size += _add(packed, root, name)
            if number >= SOURCE_FILES or size > SOURCE_BYTES:
                raise UserError(
                    f"the checkout has {number:,} files and {size >> 20:,} MiB up to {name}, which is too large",
                    f"check out less, for example with `sparse-checkout`: {LIMIT}",
                )
    return tuple(f"{_counted(found)} {absence.value}" for absence, found in absent.items())


def pack_base(workspace: Path, folder: Path) -> tuple[str, ...]:
    """Pack the files that a pull request changes as they were before, and the list of all paths that differ.

    If the checkout is not the merge of a pull request with its base, the function packs no file and returns a note.
    """
    listed = git_in(workspace, "diff", "--name-only", "--no-renames", "-z", BASE, "HEAD")
    if listed.code or git_in(workspace, "rev-parse", "--verify", "--quiet", "HEAD^2").code:
        return ("the checkout is no merge with the base: every seed that no night has on record counts as changed",)
    names = [os.fsdecode(name) for name in listed.output.split(b"\0") if name]
    (folder / CHANGED).write_text(json.dumps(names), encoding="utf-8")
    with tarfile.open(folder / BASE_FILES, "w") as packed:
        for name in names:
            # A path that was not there, or was a submodule, is no file of the base.
            before = git_in(workspace, "cat-file", "blob", f"{BASE}:{name}")
            if not before.code:
                member = tarfile.TarInfo(name)
                member.size = len(before.output)
                packed.addfile(member, io.BytesIO(before.output))
    return ()


class Absence(Enum):
    """The reason why a tracked file has no content, in the words of a note behind the files' names."""

    POINTER = "only a pointer of Git LFS: give the workflow, or its step that checks out, `lfs: true`"
    SUBMODULE = "a submodule that is not there: give the workflow, or its step that checks out, `submodules: true`"
    LINK = "left out: a link that leads out of the repository"
    MISSING = "tracked, but not checked out"


def _absence(root: Path, name: str) -> Absence | None:
    path = root / name
    if ".git" in Path(name.lower()).parts or not path.parent.resolve().is_relative_to(root):
        return Absence.LINK
    if path.is_symlink():
        target = path.readlink()
        return None if not target.is_absolute() and path.resolve().is_relative_to(root) else Absence.LINK
    if path.is_dir():
        return Absence.SUBMODULE
    if not path.is_file():
        return Absence.MISSING
    with path.open("rb") as file:
        return Absence.POINTER if file.read(len(LFS)) == LFS else None


def _add(packed: tarfile.TarFile, root: Path, name: str) -> int:
    """Add a file or a link without its owner, and return its size."""
    member = packed.gettarinfo(root / name, name)
    if member.islnk():
        # Another name of a file that is there already: two files again.
        member.type, member.linkname, member.size = tarfile.REGTYPE, "", (root / name).stat().st_size
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    if member.isreg():
        with (root / name).open("rb") as file:
            packed.addfile(member, file)
    else:
        packed.addfile(member)
    return member.size


def _counted(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}:"


def unpack_sources(inputs: Inputs, work: Workspace) -> None:
    """Take the repository's files out of the plan's artifact.

    Raises:
        UserError: the archive is none of ours.
    """
    if inputs.plan_folder is None or work.sources != work.root / "sources":
        return
    work.sources.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(inputs.plan_folder / SOURCES) as archive:
            members = _members(archive)
            extract(archive, members, work.sources)
            if (inputs.plan_folder / CHANGED).is_file():
                changed = set(json.loads((inputs.plan_folder / CHANGED).read_bytes()))
                work.base.mkdir()
                extract(archive, [member for member in members if changed.isdisjoint(_places(member))], work.base)
                with tarfile.open(inputs.plan_folder / BASE_FILES) as before:
                    extract(before, _members(before), work.base)
    except (OSError, ValueError, tarfile.TarError) as error:
        raise UserError(f"{SOURCES} cannot be unpacked: {error}", "run the plan job again") from error


def _places(member: tarfile.TarInfo) -> list[str]:
    """Return the path of a member and those of its folders: one of them may be a submodule."""
    return [member.name, *map(str, PurePosixPath(member.name).parents)]


def _members(archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    members = archive.getmembers()
    if len(members) > SOURCE_FILES or sum(member.size for member in members) > SOURCE_BYTES:
        raise UserError(f"{SOURCES} is too large: {LIMIT}", "run the plan job again")
    return members
