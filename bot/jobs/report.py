"""`nightfuzz action report`: the job that holds the token. It runs nothing, and takes the results as hostile data."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from fuzz_core.store.checks import KNOWN
from fuzz_core.store.opening import open_store
from nightfuzz.bot.action.inputs import PULLS, Inputs
from nightfuzz.bot.github.errors import GaveUpError, RefusedError, UnsureError
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.issues.labels import LABELS
from nightfuzz.bot.jobs.context import WorkflowEvent, keys_of, pull_of
from nightfuzz.bot.jobs.issues import file_issues
from nightfuzz.bot.jobs.workspace import RESULTS
from nightfuzz.bot.pulls import update_pull
from nightfuzz.bot.state.place import StateStorage
from nightfuzz.bot.state.shards import read_shards
from nightfuzz.bot.state.update import update_state
from nightfuzz.reports.artifact import folders_with
from nightfuzz.reports.comment import conclusion
from nightfuzz.reports.results import RunResult, merged, read_result

# Runs for something that another workflow has done, for a fork's pull request as a rule.
ELSEWHERE = ("workflow_run",)


class ReportOutcome(NamedTuple):
    """Outcome of a report job. notes: lines for the summary, with problems. failed: whether the job is to fail."""

    result: RunResult
    notes: tuple[str, ...]
    failed: bool


def report_job(
    inputs: Inputs, event: WorkflowEvent, hub: Hub, place: StateStorage, clock: Callable[[], datetime]
) -> ReportOutcome:
    """Tells what the fuzz jobs have left: issues for a night, a comment and a check for a pull request."""
    result = merged([read_result(folder / RESULTS, inputs.results) for folder in folders_with(RESULTS, inputs.results)])
    _check_mode(event, result)
    if result.mode in PULLS:
        notes = _pull(inputs, event, hub, result)
    else:
        notes = _issues(inputs, event, hub, place, clock, result)
    failed = conclusion(result, inputs.fail_on) == "failure"
    return ReportOutcome(result, (*notes, f"GitHub: {hub.budget.text()}"), failed)


def heard_again(state: Path, result: RunResult) -> None:
    """Bugs that the fuzz job, which has asked the registry, no longer knows: a merge keeps what any state knows."""
    speaking = {bug.fingerprint for bug in result.bugs if bug.status != KNOWN}
    with open_store(state) as store:
        for bug in store.bugs():
            if bug.status == KNOWN and bug.signature in speaking:
                store.reopen_bug(bug.id)


def _check_mode(event: WorkflowEvent, result: RunResult) -> None:
    """The code of a pull request may say of itself that it was a night: then it would write where nights write."""
    if (event.pull or event.name in ELSEWHERE) and result.mode not in PULLS:
        raise UserError(
            f"results of the mode {result.mode} in a run for a pull request",
            "report nights in the workflow that ran them",
        )


def _pull(inputs: Inputs, event: WorkflowEvent, hub: Hub, result: RunResult) -> tuple[str, ...]:
    number = event.pull or pull_of(hub, event.repository, event.sha)
    if not number:
        raise UserError("this run belongs to no pull request", "give the setting pull-request, or use the mode nightly")
    told = update_pull(hub, number, result, sha=event.sha, fail_on=inputs.fail_on, links=event.links)
    return (f"pull request {number}: comment {told.comment}", *told.problems)


def _issues(
    inputs: Inputs,
    event: WorkflowEvent,
    hub: Hub,
    place: StateStorage,
    clock: Callable[[], datetime],
    result: RunResult,
) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory(prefix="nightfuzz-report-") as name:
        folder = Path(name)
        with _labels_made(hub, bool(result.bugs and inputs.settings.max_new_issues)):
            shards, refused = read_shards(list(folders_with(RESULTS, inputs.results)), folder)
            update = update_state(place, shards, keys_of(inputs), folder / "state", clock)
            heard_again(update.public, result)
        notes = file_issues(inputs, event, hub, place, update.public, clock)
    dropped = [f"{count} rows of shards refused: {why}" for why, count in sorted(update.dropped.items())]
    return (*refused, *update.problems, *dropped, *notes)


@contextmanager
def _labels_made(hub: Hub, wanted: bool) -> Iterator[None]:
    """Makes missing labels while something else is done that asks GitHub for nothing: one a second, as it wants it.

    What fails here is met again where the labels are needed, and said there.
    """

    def make() -> None:
        with suppress(GaveUpError, RefusedError, UnsureError):
            hub.ensure_labels(LABELS)

    with ThreadPoolExecutor(1, "labels") as beside:
        if wanted:
            beside.submit(make)
        yield
