"""`nightfuzz action report`: the job that holds the token.

The job runs no foreign code and treats results as hostile data.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import KNOWN
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.action.inputs import PULLS, Inputs
from nightfuzz.bot.github.errors import RERUN
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.issues.health import update_health
from nightfuzz.bot.jobs.collection import CollectedRun, collect
from nightfuzz.bot.jobs.context import WorkflowEvent, keys_of, pull_of
from nightfuzz.bot.jobs.issues import FilingReport, begun, file_issues
from nightfuzz.bot.pulls import update_pull
from nightfuzz.bot.state.place import StateStorage
from nightfuzz.bot.state.update import StateUpdate, update_state
from nightfuzz.reports.comment import conclusion
from nightfuzz.reports.results import RunResult

# Events of a job that reports for another workflow's run, such as the run for a fork's pull request.
ELSEWHERE = ("workflow_run",)
Connect = Callable[[], Hub]


class ReportOutcome(NamedTuple):
    """The outcome of a report job."""

    result: RunResult
    notes: tuple[str, ...]  # lines for the summary, with problems
    failed: bool  # the run's findings fail the job
    error: UserError | None = None  # reason why GitHub lacks a part of the report
    waiting: str = ""  # as of FilingReport
    state: Path | None = None  # the public state, in the folder `scratch`; None for a pull request


def read_run(inputs: Inputs, event: WorkflowEvent, scratch: Path) -> CollectedRun:
    """Read what the fuzz jobs have left.

    Raises:
        UserError: as `collect`; also for a night in a run for a pull request.
    """
    run = collect(inputs, scratch)
    _check_mode(event, run.result)
    return run


def report_job(
    inputs: Inputs,
    event: WorkflowEvent,
    connect: Connect,
    place: StateStorage,
    clock: Callable[[], datetime],
    run: CollectedRun,
    scratch: Path,
) -> ReportOutcome:
    """Keep the state of a night, then write issues; or write the comment and the check of a pull request.

    GitHub's API is asked only once the state is kept. A refusal of the API is part of the outcome.

    Raises:
        UserError: the state cannot be kept: then no issue is filed, and the same job can be run again.
    """
    result, state, notes = run.result, None, tuple[str, ...]()
    if result.mode not in PULLS:
        update = _keep(inputs, event, place, clock, run, scratch)
        # The update has checked the shards' states, so the result can name the broken ones.
        result, state = result.with_faults(update.refused), update.public
        dropped = [f"{count} rows of shards refused: {why}" for why, count in sorted(update.dropped.items())]
        notes = (*update.refused, *update.problems, *dropped)
    failed = conclusion(result, inputs.fail_on) == "failure"
    try:
        hub = connect()
        if state is None:
            done = _pull(inputs, event, hub, result)
        else:
            done = file_issues(inputs, event, hub, place, state, clock)
            health = update_health(hub, result.problems if result.incomplete else (), event.links.report)
            done = done._replace(notes=(*done.notes, *health))
    except UserError as error:
        return ReportOutcome(result, (*notes, error.problem), failed, _unfinished(error, state), state=state)
    budget = f"GitHub: {hub.budget.text()}"
    return ReportOutcome(result, (*notes, *done.notes, budget), failed, done.error, done.waiting, state)


def report_lost_night(event: WorkflowEvent, connect: Connect, why: UserError) -> None:
    """Say in the health issue why a night has no results.

    Its own failure is none: the run is red already.
    """
    if not event.pull and event.name not in ELSEWHERE:
        with suppress(UserError):
            update_health(connect(), [f"{why.problem}: {why.remedy}"], event.links.report)


def _unfinished(error: UserError, state: Path | None) -> UserError:
    kept = "" if state is None else "the state of this night is kept, but not all of it is on GitHub: "
    return UserError(
        f"{kept}{error.problem}", error.remedy if error.remedy == RERUN else f"{error.remedy}; then {RERUN}"
    )


def drop_known_marks(state: Path, result: RunResult) -> None:
    """Remove the mark `known` from bugs that the registry no longer knows.

    A merge alone would keep each old mark.
    """
    speaking = {bug.fingerprint for bug in result.bugs if bug.status != KNOWN}
    with open_store(state) as store:
        for bug in store.bugs():
            if bug.status == KNOWN and bug.signature in speaking:
                store.reopen_bug(bug.id)


def _check_mode(event: WorkflowEvent, result: RunResult) -> None:
    """Refuse a night's document in a run for a pull request, whose code may claim to be a night."""
    if (event.pull or event.name in ELSEWHERE) and result.mode not in PULLS:
        raise UserError(
            f"a run for a pull request has results of the mode {result.mode}, which this run must not report",
            "set mode to pr or bump in this workflow; report the results of nightly runs in a scheduled workflow",
        )


def _pull(inputs: Inputs, event: WorkflowEvent, hub: Hub, result: RunResult) -> FilingReport:
    number = event.pull or pull_of(hub, event.repository, event.sha)
    if not number:
        raise UserError(
            f"the commit {event.sha} belongs to no pull request",
            "write the number of the pull request into the setting pull-request, or use the mode nightly",
        )
    told = update_pull(hub, number, result, sha=event.sha, fail_on=inputs.fail_on, links=event.links)
    return FilingReport((f"pull request {number}: comment {told.comment}", *told.problems))


def _keep(
    inputs: Inputs,
    event: WorkflowEvent,
    place: StateStorage,
    clock: Callable[[], datetime],
    run: CollectedRun,
    scratch: Path,
) -> StateUpdate:
    """Fold the shards into the state that is kept."""
    try:
        update = update_state(place, run.shards, keys_of(inputs), scratch / "state", clock, begun(event.run, clock))
    except UserError as error:
        raise UserError(
            f"the state of this night is not kept: {error.problem}", f"{error.remedy}; then {RERUN}"
        ) from error
    drop_known_marks(update.public, run.result)
    return update
