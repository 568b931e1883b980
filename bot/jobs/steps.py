"""The steps of the Action: inputs come from the environment, results go to the runner's files."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import NamedTuple

import typer

from fuzz_core.cli.errors import BUGS, guarded
from fuzz_core.cli.output import printable
from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import Inputs, read_inputs
from nightfuzz.bot.action.runner import Runner
from nightfuzz.bot.git import remote_of
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.jobs.context import WorkflowEvent, auth_of, event_of, secret
from nightfuzz.bot.jobs.documents import write_documents
from nightfuzz.bot.jobs.issues import listen_job
from nightfuzz.bot.jobs.plan import plan_job, read_plan, specs
from nightfuzz.bot.jobs.report import report_job
from nightfuzz.bot.jobs.request import request_of
from nightfuzz.bot.jobs.sources import unpack_sources
from nightfuzz.bot.jobs.workspace import REPORT, SARIF, restore, work_of
from nightfuzz.bot.state.branch import Chance, StateBranch
from nightfuzz.bot.state.directory import StateDirectory
from nightfuzz.bot.state.place import STATE, StateStorage
from nightfuzz.reports.annotations import commands as marks
from nightfuzz.reports.annotations import problem_commands as problem_marks
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.summary import summary


class StepContext(NamedTuple):
    """Inputs and environment of a step."""

    inputs: Inputs
    runner: Runner
    environment: Mapping[str, str]


def perform(work: Callable[[StepContext], int]) -> None:
    """Runs a step behind the error boundary. Secrets are masked before anything else is printed."""

    def begun() -> int:
        runner = Runner(os.environ)
        inputs = read_inputs(os.environ)
        for text in inputs.secrets:
            runner.mask(text)
        return work(StepContext(inputs, runner, os.environ))

    raise typer.Exit(guarded(begun))


def _said(work: Callable[[StepContext], int]) -> Callable[[StepContext], int]:
    """Let a step's error stand in its job's summary and as an annotation."""

    @wraps(work)
    def step_with_error(step: StepContext) -> int:
        try:
            return work(step)
        except UserError as error:
            step.runner.fail(error)
            raise

    return step_with_error


@_said
def fuzz_step(step: StepContext) -> int:
    # What a job without a token works with is not installed in one that holds a token.
    from nightfuzz.bot.jobs.fuzz import fuzz_job

    work = work_of(step.inputs, step.environment)
    unpack_sources(step.inputs, work)
    for problem in restore(step.inputs, work, lambda: _place(step)):
        print(f"the state is not used, and a fresh one begins: {printable(problem)}", flush=True)

    @contextmanager
    def quiet(title: str) -> Iterator[None]:
        with step.runner.group(title), step.runner.untrusted():
            yield

    note = read_plan(step.inputs)
    return fuzz_job(request_of(step.inputs, note, work), specs(step.inputs, note), work, quiet, _now)


@_said
def export_step(step: StepContext) -> int:
    from nightfuzz.bot.jobs.export import export_job

    result = export_job(step.inputs, work_of(step.inputs, step.environment), _now())
    _publish(step, result, step.inputs.results.resolve(), ())
    for line in (*problem_marks(result), *marks(result)):
        print(line, flush=True)
    return 0


@_said
def plan_step(step: StepContext) -> int:
    workspace = Path(step.environment.get("GITHUB_WORKSPACE") or ".").resolve()
    matrix = plan_job(step.inputs, _place(step), workspace)
    step.runner.output("matrix", matrix.text)
    step.runner.output("shards", matrix.shards)
    _list(step, matrix.notes)
    return 0


def report_step(step: StepContext) -> int:
    event, hub = _tracker(step)
    done = report_job(step.inputs, event, hub, _place(step), _now)
    folder = step.inputs.results.resolve() / "told"
    folder.mkdir(parents=True, exist_ok=True)
    write_documents(folder, done.result)
    _publish(step, done.result, folder, done.notes, event.links.blob)
    return BUGS if done.failed else 0


def listen_step(step: StepContext) -> int:
    event, hub = _tracker(step)
    _list(step, listen_job(step.inputs, event, hub, _place(step), _now))
    return 0


def _tracker(step: StepContext) -> tuple[WorkflowEvent, Hub]:
    event = event_of(step.inputs, step.environment)
    return event, Hub.open(auth_of(step.inputs), event.repository, event.api)


def _list(step: StepContext, notes: tuple[str, ...]) -> None:
    step.runner.summary("\n".join(f"- {escaped(note)}" for note in notes))


def _publish(step: StepContext, result: RunResult, folder: Path, notes: tuple[str, ...], blob: str = "") -> None:
    """Outputs of the step, and the job's summary."""
    outputs = {
        "bugs-total": sum(bug.status == "open" for bug in result.bugs) + result.private,
        "bugs-new": len(result.fresh),
        "regressions": result.regressions,
        "fixed": result.fixed,
        "report-path": folder / REPORT,
        "sarif-path": folder / SARIF,
        "state-path": folder / STATE if (folder / STATE).exists() else "",
    }
    for name, value in outputs.items():
        step.runner.output(name, value)
    step.runner.summary(summary(result, blob, notes))


def _place(step: StepContext) -> StateStorage:
    """Open the storage of the state: the branch of this repository, unless the inputs name a directory."""
    inputs = step.inputs
    if inputs.state != "branch":
        if inputs.state_path is None:
            raise UserError("input state-path is empty", "say where the state is")
        return StateDirectory(inputs.state_path / "reported")
    server = step.environment.get("GITHUB_SERVER_URL", "https://github.com")
    repository = step.environment.get("GITHUB_REPOSITORY", "")
    token = None if inputs.github_token is None else secret(inputs.github_token)
    remote = remote_of(f"{server}/{repository}.git", token)
    return StateBranch(remote, Chance(_now, time.sleep, random.Random().random), inputs.settings.state_branch)


def _now() -> datetime:
    return datetime.now(UTC)
