"""Where a job works: folders on the runner, and the files that jobs hand to each other."""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from fuzz_core.ir.errors import UserError
from fuzz_core.store.intake import look_over
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.jobs.work import Work
from nightfuzz.bot.state.keeping import fetched
from nightfuzz.bot.state.packing import parts, unpack
from nightfuzz.bot.state.place import STATE, Place

PLAN, SOURCES, KNOWN = "plan.json", "sources.tar", "known.toml"
RESULTS, SARIF, JUNIT, REPORT, PRIVATE = "results.json", "nightfuzz.sarif", "junit.xml", "report.md", "private.age"
SOURCE_BYTES, SOURCE_FILES = 2 << 30, 200_000


def work_of(inputs: Inputs, environment: Mapping[str, str]) -> Work:
    """The folders of a fuzz job. A state that stays on the runner is worked on where it is."""
    root = Path(environment.get("RUNNER_TEMP") or ".").resolve() / f"nightfuzz-work-{inputs.shard}"
    state = inputs.state_path.resolve() if inputs.state == "directory" and inputs.state_path else root / "state"
    return Work(root, state, sources_of(inputs, environment, root))


def sources_of(inputs: Inputs, environment: Mapping[str, str], root: Path) -> Path:
    """The user's repository: out of the plan's artifact where it has one, else the workspace."""
    packed = inputs.state_path / SOURCES if inputs.state == "artifact" and inputs.state_path else None
    if packed is not None and packed.is_file():
        return root / "sources"
    return Path(environment.get("GITHUB_WORKSPACE") or ".").resolve()


def unpack_sources(inputs: Inputs, work: Work) -> None:
    """Takes the repository's files out of the plan's artifact. Raises UserError for an archive that is none of ours."""
    if inputs.state != "artifact" or inputs.state_path is None or work.sources != work.root / "sources":
        return
    work.sources.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(inputs.state_path / SOURCES) as archive:
            members = archive.getmembers()
            if len(members) > SOURCE_FILES or sum(member.size for member in members) > SOURCE_BYTES:
                raise UserError(
                    f"{SOURCES} is too large", f"at most {SOURCE_FILES:,} files of {SOURCE_BYTES >> 30} GiB"
                )
            # The filter keeps every member inside, and drops devices, links that lead out, and owners.
            archive.extractall(work.sources, members, filter="data")
    except (OSError, tarfile.TarError) as error:
        raise UserError(f"{SOURCES} cannot be unpacked: {error}", "run the plan job again") from error


def restore(inputs: Inputs, work: Work, place: Callable[[], Place]) -> tuple[str, ...]:
    """Puts the state where the job works on it: out of the plan's artifact, or from the branch. A directory has it.

    Returns what is wrong with a state that cannot be read: the job begins anew, and the report keeps that one aside.
    """
    if inputs.state == "directory" or work.state_file.exists():
        return ()
    work.state.mkdir(parents=True, exist_ok=True)
    if inputs.state == "branch":
        return fetched(place(), work.state_file)[1]
    folder = inputs.state_path or Path()
    try:
        kept = parts({path.name: path.read_bytes() for path in folder.glob(f"{STATE}*")})
        if kept:
            unpack(kept, work.state_file)
            look_over(work.state_file)
    except UserError as error:
        work.state_file.unlink(missing_ok=True)
        return (error.problem,)
    return ()
