"""From answers to workflow files: templates, and the permissions that each of them needs, with the reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from nightfuzz.bot.init.action import Action, Workflow
from nightfuzz.bot.init.answers import TIMEOUT_MINUTES, Answers


class Permission(NamedTuple):
    """A permission of the workflow's own token.

    Attributes:
        level: read or write.
    """

    name: str
    level: str
    why: str


_SARIF = Permission("security-events", "write", "SARIF for code scanning")
_NIGHT = (
    Permission("contents", "write", "reads your sources, keeps the state under refs/nightfuzz/"),
    Permission("issues", "write", "one issue for each cause"),
    _SARIF,
)
_PULL = (
    Permission("contents", "read", "reads your sources and the state"),
    Permission("pull-requests", "write", "the comment"),
    Permission("checks", "write", "the check with its conclusion"),
    _SARIF,
)
PERMISSIONS: dict[Workflow, tuple[Permission, ...]] = {
    "nightly": _NIGHT,
    "manual": _NIGHT,
    "pull-request": _PULL,
    "bump": _PULL,
    "commands": (
        Permission("contents", "write", "keeps what was asked with the state"),
        Permission("issues", "write", "the answer, and the labels that a command means"),
    ),
    "report": (
        Permission("actions", "read", "reads the artifacts of the other run"),
        Permission("pull-requests", "write", "the comment"),
        Permission("checks", "write", "the check with its conclusion"),
    ),
}


PULL: tuple[Workflow, ...] = ("pull-request", "bump")
THREE_JOBS: tuple[Workflow, ...] = ("nightly", "manual", *PULL)
PULL_TIME = "10m"


class Expression(str):
    """Text that stands in a workflow as it is: an expression of GitHub's, or a word of ours."""


class JobTexts(NamedTuple):
    """The texts of the jobs plan, fuzz and report.

    An empty one leaves its input out.
    """

    kind: Literal["night", "pull"]  # of the report: issues of a night, or the comment on a pull request
    uses: str  # the Action, with its reference
    mode: str
    target: str
    baseline: str
    time: str
    tests: str
    settings: Sequence[str]  # lines of TOML, or an expression with all of them
    sandbox: str
    fail_on: str
    upstream: str
    runs_on: str
    timeout: str
    fork_environment: str  # used within an expression
    name: str = "nightfuzz"  # begins the names of artifacts
    python_version: str = ""
    reusable: bool = False  # for a workflow that others call: it has inputs, secrets and outputs


def reusable_jobs(kind: Literal["night", "pull"]) -> str:
    """Return the jobs of the reusable workflow of a kind, as they stand in our `.github/workflows`."""

    def given(name: str) -> Expression:
        return Expression(f"${{{{ inputs.{name} }}}}")

    texts = JobTexts(
        kind=kind, uses="$/", mode=given("mode"), target=given("target"), baseline=given("baseline"),
        time=given("time"), tests=given("tests"), settings=given("settings"), sandbox=given("sandbox"),
        fail_on=given("fail-on"), upstream=given("upstream") if kind == "night" else "",
        runs_on="${{ fromJSON(inputs.runs-on) }}", timeout=given("timeout-minutes"),
        fork_environment="inputs.fork-environment" if kind == "pull" else "", name=given("name"),
        python_version=given("python-version"), reusable=True,
    )  # fmt: skip
    return _environment().get_template("jobs.j2").render(w=texts)


def _own_jobs(answers: Answers, action: Action, workflow: Workflow) -> JobTexts:
    """Return the texts of a workflow that holds the jobs itself."""
    kind: Literal["night", "pull"] = "pull" if workflow in PULL else "night"
    by_hand = workflow == "manual"
    modes = {"nightly": "nightly", "manual": "${{ inputs.mode }}", "pull-request": "pr", "bump": "bump"}
    more = ["${{ inputs.settings }}"] if by_hand else []

    def given(name: str, otherwise: str) -> str:
        return Expression(f"${{{{ inputs.{name} }}}}") if by_hand else otherwise

    return JobTexts(
        kind=kind,
        uses=f"{action.repository}@{action.pin}",
        mode=modes[workflow],
        target="" if workflow == "bump" else given("target", answers.target),
        baseline=given("baseline", answers.baseline if workflow == "nightly" else ""),
        time=given("time", PULL_TIME if kind == "pull" else answers.time),
        tests=", ".join(answers.tests),
        settings=[*answers.settings, *more],
        sandbox=_unless(answers.sandbox, "auto"),
        fail_on=Expression("regression") if kind == "pull" else "",
        upstream=_unless(answers.upstream, "off") if workflow == "nightly" else "",
        runs_on=json.dumps(list(answers.runs_on)),
        timeout=str(answers.timeout_minutes if kind == "night" else TIMEOUT_MINUTES),
        fork_environment="'{}'".format(answers.fork_environment.replace("'", "''")) if answers.fork_environment else "",
    )


def _unless(value: str, default: str) -> str:
    return "" if value == default else value


def rendered(answers: Answers, action: Action) -> dict[str, str]:
    """Return the files by their names in `.github/workflows`."""
    templates = _environment()
    return {
        file_name(workflow): templates.get_template(f"{workflow}.yml.j2").render(
            a=answers,
            action=action,
            permissions=PERMISSIONS[workflow],
            w=_own_jobs(answers, action, workflow) if workflow in THREE_JOBS and not answers.is_hosted else None,
        )
        for workflow in dict.fromkeys(answers.workflows)
    }


def file_name(workflow: Workflow) -> str:
    """Return the file that a workflow is written to."""
    return "nightfuzz.yml" if workflow == "nightly" else f"nightfuzz-{workflow}.yml"


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("nightfuzz.bot", "templates/callers"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # YAML is no HTML: every value goes through one of the filters below.
        autoescape=False,
    )
    made.filters.update(
        quoted=_quoted, scalar=_scalar, labels=lambda labels: json.dumps(list(labels)), listed=", ".join
    )
    return made


def _scalar(value: str) -> str:
    return str(value) if isinstance(value, Expression) else _quoted(value)


def _quoted(value: object) -> str:
    """Return a YAML text in single quotes; the quote is its only special character.

    The answers are one line.
    """
    text = str(value)
    if not text.isprintable():
        raise ValueError("a value of several lines")
    return "'{}'".format(text.replace("'", "''"))
