"""The plan document: the decisions of the plan job, for the fuzz jobs and for the report job's checks."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, ValidationError

from fuzz_core.ir.errors import UserError
from fuzz_core.targets.lock import BuildLock
from nightfuzz.bot.issues.filings import CommandRequest
from nightfuzz.bot.jobs.workspace import PLAN, PLAN_FOLDER
from nightfuzz.reports.artifact import folders_with, read_plain
from nightfuzz.reports.results import Line, Mode, Name, StrictModel

PLAN_BYTES = 4 << 20
SHARDS = 256
Shard = Annotated[int, Field(ge=0, lt=SHARDS)]


class PlannedBuild(StrictModel):
    """A build to fuzz or to compare with."""

    spec: Name  # as the user or the pull request's files name it
    # the spec's files at the time of the plan; None if only the fuzz job can resolve it (an interpreter of its machine)
    lock: BuildLock | None = None
    problem: Line = ""  # reason for the missing lock


class PlanNote(StrictModel):
    """The decisions of the plan job."""

    run: Name = ""  # number of the workflow's run and the time, so that no two plans are equal
    mode: Mode | None = None
    target: PlannedBuild | None = None  # None if the inputs name no target
    baseline: PlannedBuild | None = None  # None if the inputs name no baseline
    shards: Annotated[tuple[Shard, ...], Field(max_length=SHARDS)] = ()  # numbers of the shards
    requests: tuple[CommandRequest, ...] = ()  # people's commands from comments; the state holds the fingerprints


class HandedPlan(NamedTuple):
    """A plan as a later job got it.

    Attributes:
        identity: digest of the document, which results repeat.
    """

    note: PlanNote
    identity: str


def read_note(path: Path, root: Path | None = None) -> HandedPlan:
    """Read a plan document.

    Args:
        root: as for `read_plain`.

    Raises:
        UserError: the file is no plan document.
    """
    try:
        data = read_plain(path, PLAN_BYTES, root)
        return HandedPlan(PlanNote.model_validate_json(data), sha256(data).hexdigest())
    except (OSError, ValidationError) as error:
        raise UserError(
            f"{PLAN} cannot be read: {path} is missing, or not a plan of this version of nightfuzz",
            "run the plan job again",
        ) from error


def handed_plan(results: Path) -> HandedPlan | None:
    """Return the plan in the folder of the results; None without a plan.

    The plan lies in the folder `plan` there, or in the folder of its artifact below that. A shard cannot write there:
    the workflow unpacks each artifact into a folder of its own.

    Raises:
        UserError: there are several plans, or the plan is broken.
    """
    found = list(folders_with(PLAN, results / PLAN_FOLDER, 2))
    if len(found) > 1:
        raise UserError(
            f"{results} has {len(found)} plans ({PLAN})",
            "download the artifacts of one run only, and run the job again",
        )
    return read_note(found[0] / PLAN, results) if found else None
