"""What a fuzz job is asked to do, from the Action's inputs and the plan's note, and the commands that do it."""

from __future__ import annotations

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
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.issues.clusters import first_row
from nightfuzz.bot.issues.filings import CommandRequest
from nightfuzz.bot.jobs.workspace import KNOWN, PLAN, Workspace
from nightfuzz.reports.results import Mode, Name, Part

PLAN_BYTES = 4 << 20


class PlanNote(Part):
    """What the plan job has found out. target, baseline: specs, where the pull request's files name them.

    requests: what people asked for in comments; their fingerprints are looked up in the state.
    """

    target: Name | None = None
    baseline: Name | None = None
    requests: tuple[CommandRequest, ...] = ()


def read_plan(inputs: Inputs) -> PlanNote:
    """The note of the plan job, empty where there was none. Raises UserError for one that cannot be read."""
    path = inputs.state_path / PLAN if inputs.state == "artifact" and inputs.state_path else None
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
    """What the commands are made from; the targets' keys come when they are made."""
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
    taught = inputs.state_path / KNOWN if inputs.state == "artifact" and inputs.state_path else None
    if not options and (taught is None or not taught.is_file()):
        return ("--config", str(own)) if own.is_file() else ()
    settings = {**(_read(own) if own.is_file() else {}), **options}
    known = work.sources / settings.get("known", own.with_name(KNOWN_FILE))
    files = [file for file in (known, taught) if file is not None and file.is_file()]
    work.root.mkdir(parents=True, exist_ok=True)
    (work.root / KNOWN).write_text("".join(file.read_text(encoding="utf-8") + "\n" for file in files), encoding="utf-8")
    made = work.root / DEFAULT_FILE
    made.write_text(tomlkit.dumps({**settings, "known": str(work.root / KNOWN)}), encoding="utf-8")
    return "--config", str(made)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file.name} is not valid TOML: {error}", "see docs/configuration.md for an example"
        ) from error


# Of a night's time-box, so much at most goes to bugs that are known already.
RECHECK_SHARE = 0.2


class CommandLine(NamedTuple):
    """A command line behind `nightfuzz`. name: what its answer is kept under."""

    name: str
    arguments: tuple[str, ...]


class JobRequest(NamedTuple):
    """What a job is to do. seconds: for all of it. target, baseline: keys of targets that are made already.

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


def commands(request: JobRequest) -> list[CommandLine]:
    """The commands. Of several shards, the first one alone looks at known bugs."""
    if request.mode == "bump":
        return [_bump(request)]
    if request.mode == "recheck":
        return [_recheck(request, request.seconds)]
    known = request.recheck and request.shard == 0 and request.mode == "nightly"
    spent = request.seconds * RECHECK_SHARE if known else 0.0
    first = [_recheck(request, spent)] if known else []
    # Without the common options: a bisection installs builds, so it has the network.
    bisections = [CommandLine(f"bisect-{number}", ("bisect", str(number), "--json")) for number in request.bisect]
    return [*first, *bisections, _run(request, request.seconds - spent)]


def _recheck(request: JobRequest, seconds: float) -> CommandLine:
    return CommandLine("recheck", ("recheck", "--target", request.target, *_time(seconds), *request.common, "--json"))


def _bump(request: JobRequest) -> CommandLine:
    builds = ("--from", request.baseline or "", "--to", request.target)
    return CommandLine("bump", ("bump", *builds, *_tests(request), *_time(request.seconds), *request.common, "--json"))


def _run(request: JobRequest, seconds: float) -> CommandLine:
    baseline = ("--baseline", request.baseline) if request.baseline else ()
    shard = ("--shard", f"{request.shard + 1}/{request.shards}") if request.shards > 1 else ()
    changed = ("--changed",) if request.mode == "pr" else ()
    chosen = (*baseline, *_tests(request), *shard, *changed)
    return CommandLine("run", ("run", "--target", request.target, *chosen, *_time(seconds), *request.common, "--json"))


def _tests(request: JobRequest) -> tuple[str, ...]:
    return tuple(part for folder in request.tests for part in ("--tests", str(folder)))


def _time(seconds: float) -> tuple[str, str]:
    return "--time", f"{seconds:.0f}s"
