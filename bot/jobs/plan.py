"""The plan of a fuzz job: its files, and its commands.

`nightfuzz action plan` prepares it and runs nothing of the repository or the library. The fuzz job makes its commands
from the Action's inputs and the plan's note.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import tomlkit
from pydantic import ValidationError

from fuzz_core.cli.settings import DEFAULT_FILE
from fuzz_core.ir.errors import UserError
from fuzz_core.store.opening import open_store
from fuzz_core.triage.known import DEFAULT_FILE as KNOWN_FILE
from nightfuzz.bot.action.dependencies import find_bumps
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.git import git_in
from nightfuzz.bot.issues.clusters import first_row
from nightfuzz.bot.issues.filings import CommandRequest, Filings
from nightfuzz.bot.issues.labels import entries_of
from nightfuzz.bot.jobs.issues import read
from nightfuzz.bot.jobs.workspace import KNOWN, PLAN, SOURCES, Workspace
from nightfuzz.bot.state.place import FILINGS, STATE, StateStorage
from nightfuzz.reports.results import Mode, Name, Part

PLAN_BYTES = 4 << 20
# Of a night's time-box, so much at most goes to bugs that are known already.
RECHECK_SHARE = 0.2


class PlanNote(Part):
    """Findings of the plan job. target, baseline: specs, where the pull request's files name them.

    requests: what people asked for in comments; their fingerprints are looked up in the state.
    """

    target: Name | None = None
    baseline: Name | None = None
    requests: tuple[CommandRequest, ...] = ()


class Matrix(NamedTuple):
    """text: JSON for `strategy.matrix`, empty where there is nothing to fuzz. notes: lines for the summary."""

    text: str
    shards: int
    notes: tuple[str, ...] = ()


def plan_job(inputs: Inputs, place: StateStorage, workspace: Path) -> Matrix:
    """Writes the folder `results`: the state, the sources, and a note with what was found out."""
    folder = inputs.results.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    snapshot = place.load()
    files = {} if snapshot is None else snapshot.files
    for name, data in files.items():
        if name.startswith(STATE):
            (folder / name).write_bytes(data)
    filings = read(files.get(FILINGS, b""))
    _write_known(folder, filings)
    notes: list[str] = []
    builds = _builds(inputs, workspace, notes)
    _pack_sources(workspace, folder / SOURCES)
    if builds is None:
        return Matrix("", 0, (*notes, "nothing that nightfuzz knows is bumped: nothing to do"))
    planned = PlanNote(target=builds[0], baseline=builds[1], requests=filings.waiting)
    (folder / PLAN).write_text(planned.model_dump_json(), encoding="utf-8")
    return Matrix(json.dumps({"shard": list(range(inputs.settings.shards))}), inputs.settings.shards, tuple(notes))


def _write_known(folder: Path, filings: Filings) -> None:
    """Write the bugs that people silenced by labels, in the form of `nightfuzz-known.toml`."""
    rows = [entry.model_dump(mode="json", exclude_defaults=True) for entry in entries_of(filings)]
    (folder / KNOWN).write_text(tomlkit.dumps({"known": rows}) if rows else "", encoding="utf-8")


def _builds(inputs: Inputs, workspace: Path, notes: list[str]) -> tuple[str | None, str | None] | None:
    """Specs that the pull request's files name; of several bumps the surest. None where there is none to compare."""
    if inputs.mode != "bump" or inputs.target:
        return inputs.target, inputs.baseline
    found = find_bumps(workspace, "HEAD^1", "HEAD")
    notes += found.problems
    if not found.bumps:
        return None
    first = found.bumps[0]
    notes.append(f"{first.file}: {first.distribution} goes from {first.old} to {first.new}")
    notes += [f"not compared this time: {each.old} to {each.new}" for each in found.bumps[1:]]
    return first.new, first.old


def _pack_sources(workspace: Path, archive: Path) -> None:
    """The tracked files of the commit: no `.git`, so no credentials, and nothing that lies about."""
    if git_in(workspace, "archive", "--format=tar", "-o", str(archive), "HEAD").code:
        raise UserError(f"the sources in {workspace} cannot be packed", "check out the repository first")


def read_plan(inputs: Inputs) -> PlanNote:
    """The note of the plan job, empty where there was none. Raises UserError for one that cannot be read."""
    path = inputs.plan_folder / PLAN if inputs.plan_folder else None
    if path is None or not path.is_file():
        return PlanNote()
    try:
        return PlanNote.model_validate_json(path.read_bytes()[:PLAN_BYTES])
    except (OSError, ValidationError) as error:
        raise UserError(f"{PLAN} cannot be read", "run the plan job again") from error


def specs(inputs: Inputs, plan: PlanNote) -> tuple[str, str | None]:
    """Specs of the target and the baseline. Raises UserError where the mode needs one that nobody named."""
    target, baseline = inputs.target or plan.target, inputs.baseline or plan.baseline
    if target is None:
        raise UserError("input target is empty", "name the build to fuzz, such as torch-nightly")
    if inputs.mode == "bump" and baseline is None:
        raise UserError("input baseline is empty", "name the build that is in use now, such as torch==2.12.0")
    return target, baseline if inputs.mode in ("nightly", "bump") else None


def request_of(inputs: Inputs, plan: PlanNote, work: Workspace) -> JobRequest:
    """Make the request that the commands are made from. The targets' keys are added once the targets exist."""
    settings = settings_file(inputs, work)
    return JobRequest(
        mode=cast(Mode, inputs.mode),
        seconds=inputs.time,
        target="",
        tests=inputs.tests,
        shard=inputs.shard,
        shards=inputs.settings.shards,
        bisect=_bisect(plan.requests, work) if inputs.shard == 0 else (),
        common=("--sandbox", inputs.sandbox, *settings),
        pull=settings,
    )


def _bisect(requests: Sequence[CommandRequest], work: Workspace) -> tuple[int, ...]:
    wanted = [each.fingerprint for each in requests if each.kind == "bisect" and not each.settled]
    if not wanted or not work.state_file.exists():
        return ()
    with open_store(work.state_file, read_only=True) as store:
        rows = [first_row(store, fingerprint) for fingerprint in dict.fromkeys(wanted)]
    return tuple(row.id for row in rows if row is not None)


def settings_file(inputs: Inputs, work: Workspace) -> tuple[str, ...]:
    """Make the settings file of the commands and return the flag that names it; nothing where nothing is set.

    The input `settings` wins over the user's file. What people taught by labels is added to the known findings.
    """
    config, options = inputs.settings.config, inputs.settings.options
    own = work.sources / (config or DEFAULT_FILE)
    if config is not None and not own.is_file():
        raise UserError(
            f"input settings: config: there is no file {config}", "write its path from the repository's root"
        )
    taught = inputs.plan_folder / KNOWN if inputs.plan_folder else None
    if not options and (taught is None or not taught.is_file()):
        return ("--config", str(own)) if own.is_file() else ()
    settings = {**(_read_settings(own) if own.is_file() else {}), **options}
    known = work.sources / settings.get("known", own.with_name(KNOWN_FILE))
    files = [file for file in (known, taught) if file is not None and file.is_file()]
    work.root.mkdir(parents=True, exist_ok=True)
    (work.root / KNOWN).write_text("".join(file.read_text(encoding="utf-8") + "\n" for file in files), encoding="utf-8")
    made = work.root / DEFAULT_FILE
    made.write_text(tomlkit.dumps({**settings, "known": str(work.root / KNOWN)}), encoding="utf-8")
    return "--config", str(made)


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file.name} is not valid TOML: {error}", "see docs/configuration.md for an example"
        ) from error


class JobCommand(NamedTuple):
    """A command line behind `nightfuzz`. name: what its answer is kept under."""

    name: str
    arguments: tuple[str, ...]


class JobRequest(NamedTuple):
    """Work of one fuzz job. seconds: for all of it. target, baseline: keys of targets that are made already.

    recheck: whether there are bugs to run again. bisect: numbers of bugs. common: options of every command but `pull`,
    which has its own.
    """

    mode: Mode
    seconds: float
    target: str
    baseline: str | None = None
    tests: Sequence[Path] = ()
    shard: int = 0
    shards: int = 1
    recheck: bool = False
    bisect: Sequence[int] = ()
    common: Sequence[str] = ()
    pull: Sequence[str] = ()


def commands(request: JobRequest) -> list[JobCommand]:
    """The commands. Of several shards, the first one alone looks at known bugs."""

    def command(name: str, seconds: float, *options: str) -> JobCommand:
        return JobCommand(name, (name, *options, "--time", f"{seconds:.0f}s", *request.common, "--json"))

    target = ("--target", request.target)
    tests = tuple(part for folder in request.tests for part in ("--tests", str(folder)))
    if request.mode == "bump":
        return [command("bump", request.seconds, "--from", request.baseline or "", "--to", request.target, *tests)]
    if request.mode == "recheck":
        return [command("recheck", request.seconds, *target)]
    known = request.recheck and request.shard == 0 and request.mode == "nightly"
    spent = request.seconds * RECHECK_SHARE if known else 0.0
    first = [command("recheck", spent, *target)] if known else []
    # Without the common options: a bisection installs builds, so it has the network.
    bisections = [JobCommand(f"bisect-{number}", ("bisect", str(number), "--json")) for number in request.bisect]
    baseline = ("--baseline", request.baseline) if request.baseline else ()
    shard = ("--shard", f"{request.shard + 1}/{request.shards}") if request.shards > 1 else ()
    changed = ("--changed",) if request.mode == "pr" else ()
    run = command("run", request.seconds - spent, *target, *baseline, *tests, *shard, *changed)
    return [*first, *bisections, run]
