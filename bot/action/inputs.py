"""The Action's inputs, read from the environment and checked: one clear error for the first value that does not fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

import pyrage  # type: ignore[import-untyped]
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from rapidfuzz import process as nearest

from fuzz_core.cli.settings import Seconds
from fuzz_core.ir.errors import UserError

Mode = Literal["nightly", "pr", "bump", "recheck", "report", "listen"]
# Modes that talk to GitHub, and run nothing of anybody.
TALKING = ("report", "listen")
FailOn = Literal["never", "regression", "new", "any"]
StatePlace = Literal["branch", "directory", "artifact"]
Upstream = Literal["off", "draft", "approved"]
Sandbox = Literal["auto", "docker", "none"]
Devices = Literal["auto", "cpu", "cuda"]

PREFIX = "INPUT_"
LONGEST = 20_000
MOST = 1_000
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# What `git check-ref-format` takes, without what would mean something to a shell or an option parser.
_BRANCH = r"(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)|@\{))[A-Za-z0-9_][A-Za-z0-9_./@+-]*(?<![./])"


def _listed(text: object) -> object:
    """Entries by line or comma, without empty ones."""
    if not isinstance(text, str):
        return text
    return [part.strip() for part in re.split(r"[\n,]", text) if part.strip()]


def _truth(text: object) -> object:
    if isinstance(text, str) and text.lower() not in {"true", "false"}:
        raise ValueError("write true or false")
    return text.lower() == "true" if isinstance(text, str) else text


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it has to be one line of printable text")
    return text


def inside(text: str) -> str:
    """A path relative to the repository. Raises ValueError for another."""
    pure = PurePosixPath(_one_line(text))
    if pure.is_absolute() or ".." in pure.parts:
        raise ValueError("it has to be a path inside the repository, relative to its root")
    return text


def _matching(pattern: str, words: str) -> AfterValidator:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"it has to be {words}")
        return text

    return AfterValidator(check)


def _recipient(text: str) -> str:
    try:
        pyrage.x25519.Recipient.from_str(text)
    except pyrage.RecipientError as error:
        raise ValueError("it has to be a public key of age: `nightfuzz init --private-key` makes one") from error
    return text


def _address(text: str) -> str:
    parts = urlsplit(_one_line(text))
    secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not secure or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError("it has to be an address such as https://HOST/api/v3, without a name, password or query")
    return text.rstrip("/")


Line = Annotated[str, Field(max_length=500), AfterValidator(_one_line)]
Inside = Annotated[Path, BeforeValidator(inside)]
Lines = Annotated[tuple[Line, ...], BeforeValidator(_listed), Field(max_length=MOST)]
Folders = Annotated[tuple[Inside, ...], BeforeValidator(_listed), Field(max_length=MOST)]
Recipient = Annotated[str, AfterValidator(_recipient)]
Anywhere = Annotated[Path, BeforeValidator(_one_line)]
Branch = Annotated[str, Field(max_length=200), _matching(_BRANCH, "the name of a branch, such as nightfuzz-state")]
Python = Annotated[str, _matching(r"3\.(1[1-9]|[2-9]\d)", "3.11 or later, written as 3.12")]
Commit = Annotated[str, _matching("[0-9a-f]{40}|[0-9a-f]{64}", "the whole hash of a commit")]


class Inputs(BaseModel):
    """The inputs of action.yml by their names there, `-` written as `_`. time: in seconds.

    Paths of seeds and of the settings file are relative to the repository. workers: None where the settings file is to
    say. Secrets show themselves to nobody who prints this.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    mode: Mode = "nightly"
    plan_only: Annotated[bool, BeforeValidator(_truth)] = False
    target: Line | None = None
    baseline: Line | None = None
    time: Seconds = 45 * 60.0
    apis: Lines = ()
    tests: Folders = ()
    models: Folders = ()
    docs: Folders = ()
    workers: Annotated[int, Field(ge=1, le=256)] | None = None
    devices: Devices = "auto"
    fail_on: FailOn = "never"
    state: StatePlace = "branch"
    state_branch: Branch = "nightfuzz-state"
    state_path: Anywhere | None = None
    upstream: Upstream = "off"
    sandbox: Sandbox = "auto"
    python_version: Python | None = None
    config: Inside | None = None
    shard: Annotated[int, Field(ge=0, lt=256)] = 0
    shards: Annotated[int, Field(ge=1, le=256)] = 1
    results: Anywhere = Path("nightfuzz-results")
    artifact: Line | None = None
    max_new_issues: Annotated[int, Field(ge=0, le=100)] = 5
    private_recipient: Recipient | None = None
    pull_request: Annotated[int, Field(ge=1, le=2**31)] | None = None
    commit: Commit | None = None
    github_token: SecretStr | None = None
    app_id: Annotated[int, Field(ge=1, le=2**53)] | None = None
    app_private_key: SecretStr | None = None
    upstream_token: SecretStr | None = None
    private_identity: SecretStr | None = None
    api_url: Annotated[str, Field(max_length=500), AfterValidator(_address)] = "https://api.github.com"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be shown: to be masked before anything else is done."""
        given = (self.github_token, self.app_private_key, self.upstream_token, self.private_identity)
        return tuple(secret.get_secret_value() for secret in given if secret)


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """The inputs from `INPUT_…` variables; what is empty or not there has its default.

    Raises UserError that names the first input that does not fit, and what would.
    """
    given: dict[str, Any] = {}
    for name in Inputs.model_fields:
        text = environment.get(PREFIX + name.upper(), "").strip()
        if len(text) > LONGEST:
            raise UserError(f"input {_written(name)} has {len(text):,} characters", f"at most {LONGEST:,} fit")
        if text:
            given[name] = text
    try:
        inputs = Inputs(**given)
    except ValidationError as error:
        raise _explained(error, given) from error
    _check_together(inputs)
    return inputs


def _written(name: str) -> str:
    return name.replace("_", "-")


def _explained(error: ValidationError, given: Mapping[str, str]) -> UserError:
    """What is wrong with the first value that does not fit. A secret's text is not repeated."""
    first = error.errors(include_input=False, include_url=False)[0]
    name = str(first["loc"][0])
    value = given.get(name, "")
    shown = "" if Inputs.model_fields[name].annotation == (SecretStr | None) else f": {_short(value)} does not fit"
    choices = get_args(Inputs.model_fields[name].annotation)
    if first["type"] == "literal_error":
        close = nearest.extractOne(value.lower(), choices, score_cutoff=50)
        guess = f"did you mean {close[0]}? " if close else ""
        return UserError(f"input {_written(name)}{shown}", f"{guess}It has to be one of {', '.join(choices)}")
    return UserError(f"input {_written(name)}{shown}", first["msg"].removeprefix("Value error, "))


def _short(value: str) -> str:
    return repr(value if len(value) <= 80 else f"{value[:79]}…")


def _check_together(inputs: Inputs) -> None:
    """What does not fit together, though each value by itself does."""
    if inputs.shard >= inputs.shards:
        raise UserError(f"input shard: {inputs.shard} is no shard of {inputs.shards}", "shards count from 0")
    if inputs.state != "branch" and inputs.state_path is None and not inputs.plan_only:
        raise UserError(f"input state-path is empty, and the state is kept in a {inputs.state}", "say where it is")
    if (inputs.app_id is None) != (inputs.app_private_key is None):
        raise UserError("an App needs both app-id and app-private-key", "give both, or neither and a github-token")
    if inputs.mode in TALKING and inputs.github_token is None and inputs.app_private_key is None:
        raise UserError(f"mode {inputs.mode} has no token", "add `github-token: ${{ github.token }}` to its inputs")
    if inputs.mode == "bump" and inputs.baseline and not inputs.target:
        raise UserError("input baseline is given without a target", "give both builds, or neither to read the diff")
