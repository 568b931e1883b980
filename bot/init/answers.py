"""Answers of the user to `nightfuzz init`, checked before they get into a file."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any

import tomlkit
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from fuzz_core.adapters.library import DEFAULT_TARGET
from fuzz_core.cli.settings import seconds
from fuzz_core.ir.errors import UserError
from fuzz_core.targets.spec import parse_spec
from nightfuzz.bot.action.inputs import Line, Recipient, Sandbox, Upstream, inside, misfit
from nightfuzz.bot.init.action import Workflow

TIMEOUT_MINUTES = 120
"""End of the fuzz job where the time-box is an hour at most: the default of the reusable workflows."""
INSTALL_MINUTES = 60
"""A longer time-box has this much on top, for installing nightfuzz and the builds."""
HOSTED_MINUTES = 360
"""GitHub's own machines end each job after so long."""
_HOSTED = re.compile(r"ubuntu-(latest|[0-9.]+)(-arm)?")
LABEL = r"[A-Za-z0-9][A-Za-z0-9._ -]*"
_OPTIONS = {"workflows": "workflow"}
_GLOB = re.compile(r"([*?+!\[\]\\])")


def _plain(text: str) -> str:
    """Return text that stays text in a workflow: an expression would be evaluated by GitHub, wherever it stands."""
    if "${{" in text or "}}" in text:
        raise ValueError("the value has ${{ or }}: write a plain value, and put expressions into the file yourself")
    return text


def _time(text: str) -> str:
    seconds(text)
    return text


def _day(text: str) -> str:
    if not re.fullmatch(r"([01]?\d|2[0-3]):[0-5]\d", text):
        raise ValueError("write a time of day in UTC, such as 03:17")
    return text


def _label(text: str) -> str:
    if not re.fullmatch(LABEL, text):
        raise ValueError("write a runner's label with letters, digits, '.', '-', '_' and blanks only")
    return text


def _entry(text: str) -> str:
    if "," in text or text != text.strip():
        raise ValueError("write a path without commas, and without blanks around it")
    return inside(text)


Word = Annotated[Line, AfterValidator(_plain)]
Folder = Annotated[Word, AfterValidator(_entry)]
Label = Annotated[str, Field(max_length=100), AfterValidator(_label)]


class Answers(BaseModel):
    """Content of the workflows to write.

    Empty is the default of the reusable workflow.

    Attributes:
        at: of the day, in UTC.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    workflows: Annotated[tuple[Workflow, ...], Field(min_length=1)] = ("nightly",)
    target: Annotated[Word, Field(min_length=1)] = DEFAULT_TARGET
    baseline: Word = ""
    runs_on: Annotated[tuple[Label, ...], Field(min_length=1, max_length=20)] = ("ubuntu-latest",)
    tests: tuple[Folder, ...] = ()
    models: tuple[Folder, ...] = ()
    docs: tuple[Folder, ...] = ()
    time: Annotated[str, AfterValidator(_plain), AfterValidator(_time)] = "45m"
    at: Annotated[str, AfterValidator(_day)] = "03:17"
    shards: Annotated[int, Field(ge=1, le=256)] = 1
    sandbox: Sandbox = "auto"
    upstream: Upstream = "off"
    private_recipient: Recipient | None = None
    fork_environment: Annotated[Word, Field(max_length=200)] = ""

    @property
    def cron(self) -> str:
        """When the night begins, as a schedule."""
        hour, _colon, minute = self.at.partition(":")
        return f"{int(minute)} {int(hour)} * * *"

    @property
    def is_hosted(self) -> bool:
        """Whether GitHub's own machines fuzz."""
        return len(self.runs_on) == 1 and _HOSTED.fullmatch(self.runs_on[0]) is not None

    @property
    def timeout_minutes(self) -> int:
        """Minutes after which GitHub ends the fuzz job of a night."""
        return max(TIMEOUT_MINUTES, math.ceil(float(str(seconds(self.time))) / 60) + INSTALL_MINUTES)

    @property
    def settings(self) -> list[str]:
        """Lines of TOML for the input `settings`."""
        given = {
            "models": list(self.models),
            "docs": list(self.docs),
            "shards": self.shards if self.shards > 1 else None,
            "private-recipient": self.private_recipient,
        }
        return tomlkit.dumps({name: value for name, value in given.items() if value}).splitlines()

    @property
    def seed_paths(self) -> tuple[str, ...]:
        """Paths whose change in a pull request changes seeds, as patterns of GitHub's."""
        folders = dict.fromkeys((*self.tests, *self.models, *self.docs))
        named = (Path(folder).as_posix() for folder in folders)
        patterns = [_GLOB.sub(r"\\\1", name) + "/**" for name in named if name != "."]
        return tuple(patterns) if folders and len(patterns) == len(folders) else ("**.py",)


def checked(**given: Any) -> Answers:
    """Return the answers, after a check of each and of all together.

    Raises:
        UserError: an answer does not fit; the message names the first such answer, and what would fit.
    """
    try:
        answers = Answers(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise misfit(error, lambda name: f"--{_OPTIONS.get(name, name.replace('_', '-'))}") from error
    _check_together(answers)
    return answers


def _check_together(answers: Answers) -> None:
    seeds = {"bump": answers.tests, "pull-request": (*answers.tests, *answers.models, *answers.docs)}
    for workflow in answers.workflows:
        if workflow in seeds and not seeds[workflow]:
            raise UserError(
                f"the workflow {workflow} runs the calls of your tests on two builds, and no test directory is named",
                "name the directory of your tests with --tests",
            )
    if answers.is_hosted and answers.timeout_minutes > HOSTED_MINUTES:
        raise UserError(
            f"--time: {answers.time} is too long for {answers.runs_on[0]}: GitHub ends its jobs after "
            f"{HOSTED_MINUTES // 60} hours, and installing needs {INSTALL_MINUTES} minutes",
            f"write {HOSTED_MINUTES - INSTALL_MINUTES}m at most, or name your own runner with --runs-on",
        )
    if not answers.target.endswith(".whl") and not answers.target.startswith("python:"):
        parse_spec(answers.target)
