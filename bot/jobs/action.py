"""The steps of the Action. Inputs come from the environment, results go to the runner's files."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import typer

from fuzz_core.cli.boundary import BUGS, guarded
from fuzz_core.cli.display import printable
from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import Inputs, read_inputs
from nightfuzz.bot.action.runner import Runner
from nightfuzz.bot.git import remote_of
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.github.redaction import Secret
from nightfuzz.bot.jobs import asking, plan
from nightfuzz.bot.jobs.context import auth_of, event_of
from nightfuzz.bot.jobs.export import export_job, write_texts
from nightfuzz.bot.jobs.fuzzing import fuzz_job
from nightfuzz.bot.jobs.listen import listen_job
from nightfuzz.bot.jobs.places import REPORT, SARIF, restore, unpack_sources, work_of
from nightfuzz.bot.jobs.report import report_job
from nightfuzz.bot.state.branch import Branch, Chance
from nightfuzz.bot.state.directory import Directory
from nightfuzz.bot.state.place import STATE, Place
from nightfuzz.reports.annotations import commands as marks
from nightfuzz.reports.markdown import escaped
from nightfuzz.reports.results import Result
from nightfuzz.reports.summary import summary


class Step(NamedTuple):
    """What every step has."""

    inputs: Inputs
    runner: Runner
    environment: Mapping[str, str]


def perform(work: Callable[[Step], int]) -> None:
    """Runs a step behind the error boundary. Secrets are masked before anything else is printed."""

    def begun() -> int:
        runner = Runner(os.environ)
        inputs = read_inputs(os.environ)
        for secret in inputs.secrets:
            runner.mask(secret)
        return work(Step(inputs, runner, os.environ))

    raise typer.Exit(guarded(begun))


def fuzz_step(step: Step) -> int:
    work = work_of(step.inputs, step.environment)
    unpack_sources(step.inputs, work)
    for problem in restore(step.inputs, work, lambda: _place(step)):
        print(f"the state is not used, and a fresh one begins: {printable(problem)}", flush=True)
    planned = asking.planned(step.inputs)

    @contextmanager
    def quiet(title: str) -> Iterator[None]:
        with step.runner.group(title), step.runner.untrusted():
            yield

    asked = asking.asked(step.inputs, planned, work)
    return fuzz_job(asked, asking.specs(step.inputs, planned), work, quiet, _now)


def export_step(step: Step) -> int:
    result = export_job(step.inputs, work_of(step.inputs, step.environment), _now())
    _told(step, result, step.inputs.results.resolve(), ())
    for line in marks(result):
        print(line, flush=True)
    return 0


def plan_step(step: Step) -> int:
    workspace = Path(step.environment.get("GITHUB_WORKSPACE") or ".").resolve()
    matrix = plan.plan_job(step.inputs, _place(step), workspace)
    for name, value in plan.outputs(matrix).items():
        step.runner.output(name, value)
    step.runner.summary("\n".join(f"- {escaped(note)}" for note in matrix.notes))
    return 0


def report_step(step: Step) -> int:
    event = event_of(step.inputs, step.environment)
    hub = Hub.open(auth_of(step.inputs), event.repository, event.api)
    done = report_job(step.inputs, event, hub, _place(step), _now)
    folder = step.inputs.results.resolve() / "told"
    folder.mkdir(parents=True, exist_ok=True)
    write_texts(folder, done.result)
    _told(step, done.result, folder, done.notes, event.links.blob)
    return BUGS if done.failed else 0


def listen_step(step: Step) -> int:
    event = event_of(step.inputs, step.environment)
    hub = Hub.open(auth_of(step.inputs), event.repository, event.api)
    notes = listen_job(step.inputs, event, hub, _place(step), _now)
    step.runner.summary("\n".join(f"- {escaped(note)}" for note in notes))
    return 0


def _told(step: Step, result: Result, folder: Path, notes: tuple[str, ...], blob: str = "") -> None:
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


def _place(step: Step) -> Place:
    """Where the state is kept. The branch of this repository, unless the inputs name a directory."""
    inputs = step.inputs
    if inputs.state != "branch":
        if inputs.state_path is None:
            raise UserError("input state-path is empty", "say where the state is")
        return Directory(inputs.state_path / "reported")
    server = step.environment.get("GITHUB_SERVER_URL", "https://github.com")
    repository = step.environment.get("GITHUB_REPOSITORY", "")
    token = inputs.github_token and Secret(inputs.github_token.get_secret_value())
    remote = remote_of(f"{server}/{repository}.git", token or None)
    return Branch(remote, Chance(_now, time.sleep, random.Random().random), inputs.settings.state_branch)


def _now() -> datetime:
    return datetime.now(UTC)
