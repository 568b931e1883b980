"""The commands that a fuzz job runs, made from the Action's inputs and the plan's note."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

from fuzz_core.store.statefile import open_store
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.issues.clusters import first_row
from nightfuzz.bot.issues.filings import CommandRequest
from nightfuzz.bot.jobs.note import PlanNote
from nightfuzz.bot.jobs.settings import settings_file
from nightfuzz.bot.jobs.workspace import Workspace
from nightfuzz.reports.results import Mode

# The largest share of a night's time box for bugs that are known already.
RECHECK_SHARE = 0.2


class JobCommand(NamedTuple):
    """A command line behind `nightfuzz`.

    Attributes:
        name: the name of the file with its answer.
    """

    name: str
    arguments: tuple[str, ...]


class JobRequest(NamedTuple):
    """Work of one fuzz job."""

    mode: Mode
    seconds: float  # time for the whole job
    target: str  # key of a target that is made already
    baseline: str | None = None  # key of a target that is made already
    tests: Sequence[Path] = ()
    shard: int = 0
    shards: int = 1
    recheck: bool = False  # there are bugs to run again
    bisect: Sequence[int] = ()  # numbers of bugs
    common: Sequence[str] = ()  # options of every command but `pull` and `bisect`
    pull: Sequence[str] = ()  # options of the command `pull`
    plan: str = ""  # digest of the plan; empty for none
    settings: Sequence[str] = ()  # options of the command `bisect`
    base: Path | None = None  # the sources before a pull request's change, if they are known


def commands(request: JobRequest) -> list[JobCommand]:
    """Return the commands of a job.

    The first of several shards alone runs known bugs again.
    """

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
    # A bisection installs builds, so it needs the network and goes without the common options.
    bisections = [
        JobCommand(f"bisect-{number}", ("bisect", str(number), *request.settings, "--json"))
        for number in request.bisect
    ]
    baseline = ("--baseline", request.baseline) if request.baseline else ()
    shard = ("--shard", f"{request.shard + 1}/{request.shards}") if request.shards > 1 else ()
    base = ("--base", str(request.base)) if request.base else ()
    changed = ("--changed", *base) if request.mode == "pr" else ()
    run = command("run", request.seconds - spent, *target, *baseline, *tests, *shard, *changed)
    return [*first, *bisections, run]


def request_of(inputs: Inputs, plan: PlanNote, work: Workspace) -> JobRequest:
    """Make the request that the commands are made from.

    The targets' keys are added once the targets exist.
    """
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
        pull=("--sandbox", inputs.sandbox, *settings),
        settings=settings,
        base=work.base if work.base.is_dir() else None,
    )


def _bisect(requests: Sequence[CommandRequest], work: Workspace) -> tuple[int, ...]:
    wanted = [each.fingerprint for each in requests if each.kind == "bisect" and not each.settled]
    if not wanted or not work.state_file.exists():
        return ()
    with open_store(work.state_file, read_only=True) as store:
        rows = [first_row(store, fingerprint) for fingerprint in dict.fromkeys(wanted)]
    return tuple(row.id for row in rows if row is not None)
