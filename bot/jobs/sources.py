"""The caller's sources on their way from the plan job to the fuzz jobs."""

from __future__ import annotations

import tarfile
from pathlib import Path

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.git import git_in
from nightfuzz.bot.jobs.archive import extract
from nightfuzz.bot.jobs.workspace import SOURCES, Workspace

SOURCE_BYTES, SOURCE_FILES = 2 << 30, 200_000


def pack_sources(workspace: Path, archive: Path) -> None:
    """The tracked files of the commit: no `.git`, so no credentials, and nothing that lies about."""
    if git_in(workspace, "archive", "--format=tar", "-o", str(archive), "HEAD").code:
        raise UserError(f"the sources in {workspace} cannot be packed", "check out the repository first")


def unpack_sources(inputs: Inputs, work: Workspace) -> None:
    """Takes the repository's files out of the plan's artifact. Raises UserError for an archive that is none of ours."""
    if inputs.plan_folder is None or work.sources != work.root / "sources":
        return
    work.sources.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(inputs.plan_folder / SOURCES) as archive:
            members = archive.getmembers()
            if len(members) > SOURCE_FILES or sum(member.size for member in members) > SOURCE_BYTES:
                raise UserError(
                    f"{SOURCES} is too large", f"at most {SOURCE_FILES:,} files of {SOURCE_BYTES >> 30} GiB"
                )
            extract(archive, members, work.sources)
    except (OSError, tarfile.TarError) as error:
        raise UserError(f"{SOURCES} cannot be unpacked: {error}", "run the plan job again") from error
