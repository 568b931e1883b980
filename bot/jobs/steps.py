"""The steps of the Action: inputs come from the environment, results go to the runner's files."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import typer

from fuzz_core.cli.errors import BUGS, guarded
from fuzz_core.cli.streams import printable
from fuzz_core.ir.errors import UserError
from fuzz_core.triage.known import load_registry
from nightfuzz.bot.action.environment import drop_variables
from nightfuzz.bot.action.inputs import Inputs, read_inputs
from nightfuzz.bot.action.runner import Runner
from nightfuzz.bot.git import remote_of
from nightfuzz.bot.github.auth import api_address, push_token
from nightfuzz.bot.github.budget import Budget
from nightfuzz.bot.github.client import Client
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.jobs.collection import folders
from nightfuzz.bot.jobs.context import WorkflowEvent, app_of, auth_of, event_of, secret, workflow_of
from nightfuzz.bot.jobs.documents import write_documents
from nightfuzz.bot.jobs.issues import listen_job
from nightfuzz.bot.jobs.plan import builds_of, plan_job, read_plan
from nightfuzz.bot.jobs.report import ELSEWHERE, read_run, report_job, report_lost_night
from nightfuzz.bot.jobs.request import request_of
from nightfuzz.bot.jobs.sources import unpack_sources
from nightfuzz.bot.jobs.workspace import REPORT, SARIF, TOLD, restore, work_of
from nightfuzz.bot.state.directory import StateDirectory
from nightfuzz.bot.state.place import STATE, StateStorage
from nightfuzz.bot.state.ref import Chance, StateRef
from nightfuzz.reports.annotations import command
from nightfuzz.reports.annotations import commands as marks
from nightfuzz.reports.annotations import problem_commands as problem_marks
from nightfuzz.reports.artifact import fresh_folder
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.summary import summary


def _now() -> datetime:
    return datetime.now(UTC)


class StepContext(NamedTuple):
    """Inputs and environment of a step, and its time."""

    inputs: Inputs
    runner: Runner
    environment: Mapping[str, str]
    chance: Chance


SHOWN = 5
DASHBOARD = "dashboard"  # folder of the site, beside the report
SYSTEM = Chance(_now, time.sleep, random.random)


def perform(work: Callable[[StepContext], int]) -> None:
    """Run a step of this process, and end the process with the step's exit code."""
    raise typer.Exit(run_step(work, os.environ))


def run_step(work: Callable[[StepContext], int], environment: Mapping[str, str], chance: Chance = SYSTEM) -> int:
    """Run a step behind the error boundary.

    Secrets are masked before the first print.

    An error of the user's stands in the log, in the job's summary and as an annotation.
    """

    def begun() -> int:
        runner = Runner(environment)
        try:
            inputs = read_inputs(environment)
            for text in inputs.secrets:
                runner.mask(text)
            return work(StepContext(inputs, runner, environment, chance))
        except UserError as error:
            runner.fail(error)
            raise

    return guarded(begun)


def fuzz_step(step: StepContext) -> int:
    """Fuzz, and return the worst exit code of the commands."""
    # A job without a token works with what is not installed in one that holds a token.
    from nightfuzz.bot.jobs.fuzz import fuzz_job

    drop_variables()
    work = work_of(step.inputs, step.environment)
    unpack_sources(step.inputs, work)
    for problem in restore(step.inputs, work, lambda: _place(step)):
        print(f"the state is not used, and a new state begins: {printable(problem)}", flush=True)

    @contextmanager
    def quiet(title: str) -> Iterator[None]:
        with step.runner.group(title), step.runner.untrusted():
            yield

    plan = read_plan(step.inputs)
    request = request_of(step.inputs, plan.note, work)._replace(plan=plan.identity)
    return fuzz_job(request, builds_of(step.inputs, plan.note), work, quiet, step.chance.clock)


def export_step(step: StepContext) -> int:
    """Write the results of a fuzz job, and print their annotations."""
    from nightfuzz.bot.jobs.export import export_job

    work, now = work_of(step.inputs, step.environment), step.chance.clock()
    result = export_job(step.inputs, work, now, workflow_of(step.environment))
    _publish(step, result, step.inputs.results.resolve(), ())
    for line in (*problem_marks(result), *marks(result)):
        print(line, flush=True)
    return 0


def plan_step(step: StepContext) -> int:
    """Write the plan, and set the outputs `matrix` and `shards`."""
    workspace = Path(step.environment.get("GITHUB_WORKSPACE") or ".").resolve()
    run = f"{step.environment.get('GITHUB_RUN_ID', '')} {step.chance.clock().isoformat()}".strip()
    matrix = plan_job(step.inputs, _place(step), workspace, run)
    step.runner.output("matrix", matrix.text)
    step.runner.output("shards", matrix.shards)
    _list(step, matrix.notes)
    return 0


def report_step(step: StepContext) -> int:
    """Keep the state and report it; the exit code is that of found bugs if the check fails."""
    event = event_of(step.inputs, step.environment)
    if event.name in ELSEWHERE and next(folders(step.inputs.results), None) is None:
        _list(step, ("The other run left no results to report. The log of its jobs says why.",))
        return 0
    folder = step.inputs.results.resolve() / TOLD
    workflow = workflow_of(step.environment)
    with tempfile.TemporaryDirectory(prefix="nightfuzz-report-") as name:
        scratch = Path(name)
        try:
            run = read_run(step.inputs, event, scratch)
        except UserError as error:
            report_lost_night(event, lambda: _hub(step, event), error)
            raise
        fresh_folder(folder)
        write_documents(folder, run.result, workflow)
        _publish(step, run.result, folder, (), event.links.blob)
        place, clock = _place(step), step.chance.clock
        done = report_job(step.inputs, event, lambda: _hub(step, event), place, clock, run, scratch)
        if step.inputs.settings.dashboard and done.state is not None:
            _write_dashboard(step, done.state, folder / DASHBOARD)
    write_documents(folder, done.result, workflow)
    _list(step, done.notes)
    if done.waiting:
        print(command("notice", done.waiting, title="nightfuzz"), flush=True)
    if done.error is not None:
        raise done.error
    if done.result.incomplete:
        print(command("error", "; ".join(done.result.problems[:SHOWN]), title="The run is incomplete"), flush=True)
    return BUGS if done.failed else 0


def _write_dashboard(step: StepContext, state: Path, folder: Path) -> None:
    from fuzz_core.campaign.dashboard.collection import public_site
    from nightfuzz.reports.dashboard.site import write_site

    clock = step.chance.clock
    site = public_site(state, load_registry(step.inputs.settings.known, clock().date()), clock)
    step.runner.output("dashboard-path", write_site(site, folder).parent)


def listen_step(step: StepContext) -> int:
    """Handle the commands in the event's comment."""
    event = event_of(step.inputs, step.environment)
    _list(step, listen_job(step.inputs, event, _hub(step, event), _place(step), step.chance.clock))
    return 0


def _hub(step: StepContext, event: WorkflowEvent) -> Hub:
    return Hub.open(auth_of(step.inputs), event.repository, event.api, budget=_budget(step))


def _budget(step: StepContext) -> Budget:
    return Budget(step.chance.clock, step.chance.sleep)


def _list(step: StepContext, notes: tuple[str, ...]) -> None:
    step.runner.summary("\n".join(f"- {escaped(note)}" for note in notes))


def _publish(step: StepContext, result: RunResult, folder: Path, notes: tuple[str, ...], blob: str = "") -> None:
    """Write the outputs of the step, and the job's summary."""
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
    """Open the storage of the state: a ref of this repository, unless the inputs name a directory."""
    inputs = step.inputs
    if inputs.state != "repository":
        if inputs.state_path is None:
            raise UserError(
                "input state-path is empty", f"set state-path to the path of the {inputs.state} that holds the state"
            )
        return StateDirectory(inputs.state_path / "reported")
    server = step.environment.get("GITHUB_SERVER_URL", "https://github.com")
    repository = step.environment.get("GITHUB_REPOSITORY", "")
    token = None if inputs.github_token is None else secret(inputs.github_token)
    if token is None and (auth := app_of(inputs)) is not None:
        address = api_address(step.environment, inputs.settings.api_url)
        token = push_token(auth, Client(auth.app, repository, address, _budget(step)))
        step.runner.mask(token.reveal())
    return StateRef(remote_of(f"{server}/{repository}.git", token), step.chance, inputs.settings.state_ref)
