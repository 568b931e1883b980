"""The Action's inputs, read from the environment and checked: one clear error for the first value that does not fit."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import pyrage  # type: ignore[import-untyped]
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
)
from rapidfuzz import process as nearest

from fuzz_core.cli.settings import SECRET, Seconds, Settings
from fuzz_core.ir.errors import UserError
from nightfuzz.reports.comment import FailOn

Mode = Literal["nightly", "pr", "bump", "recheck", "report", "listen"]
# Modes that talk to GitHub and run no foreign code.
TALKING = ("report", "listen")
# Modes that work on a pull request.
PULLS = ("pr", "bump")
StatePlace = Literal["repository", "directory", "artifact"]
Upstream = Literal["off", "draft", "approved"]
Sandbox = Literal["auto", "docker", "none"]

PREFIX = "INPUT_"
LONGEST = 20_000
MOST = 1_000
# Refs that `git check-ref-format` accepts, without characters that a shell or an option parser would interpret.
_REF = r"(?!.*(?:\.\.|\.lock(?:/|$)))refs(?:/[A-Za-z0-9][A-Za-z0-9._-]*){2,}(?<!\.)"


def _listed(text: object) -> object:
    """Return entries by line or comma, without empty ones."""
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
    """Return a path relative to the repository.

    Raises:
        ValueError: the path leads out of the repository.
    """
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


Line = Annotated[str, Field(max_length=500), AfterValidator(_one_line)]
Inside = Annotated[Path, BeforeValidator(inside)]
Folders = Annotated[tuple[Inside, ...], BeforeValidator(_listed), Field(max_length=MOST)]
Recipient = Annotated[str, AfterValidator(_recipient)]
Anywhere = Annotated[Path, BeforeValidator(_one_line)]
Ref = Annotated[str, Field(max_length=200), _matching(_REF, "the full name of a ref, such as refs/nightfuzz/state")]
Python = Annotated[str, _matching(r"3\.(1[1-9]|[2-9]\d)", "3.11 or later, written as 3.12")]
Commit = Annotated[str, _matching("[0-9a-f]{40}|[0-9a-f]{64}", "the whole hash of a commit")]


class ActionSettings(Settings):
    """Keys of the input `settings`: those of `nightfuzz.toml`, and the keys below, which the Action alone has."""

    config: Inside | None = Field(
        None, description="Path of the settings file in the repository. Empty: `nightfuzz.toml`, if this file exists."
    )
    shards: int = Field(1, ge=1, le=256, description="Number of fuzz jobs that share the apis.")
    state_ref: Ref = Field(
        "refs/nightfuzz/state",
        description="Full name of the ref with the state. The ref has one commit without a parent, and only nightfuzz "
        "writes it. A ref under `refs/heads/` is a branch, which every clone fetches.",
    )
    max_new_issues: int = Field(
        5,
        ge=0,
        le=100,
        description="Number of issues that the bot opens in a day, the worst bugs first. Further bugs wait.",
    )
    private_recipient: Recipient | None = Field(
        None,
        description="Public key (`age1…`, from `nightfuzz init --private-key`) that encrypts private bugs. Empty: "
        "nightfuzz only counts these bugs.",
    )
    dashboard: bool = Field(
        False,
        description="Whether the report job of a night writes the dashboard of the public state and uploads it as the "
        "artifact `github-pages`, which `actions/deploy-pages` publishes.",
    )
    app_id: int | None = Field(
        None,
        ge=1,
        le=2**53,
        description="Number of the GitHub App that writes issues and comments, with the input `app-private-key`. If "
        "there is no `github-token`, the App also writes the state.",
    )
    pull_request: int | None = Field(
        None,
        ge=1,
        le=2**31,
        description="Number of the pull request to comment on. Empty: the pull request of the event.",
    )
    commit: Commit | None = Field(None, description="Commit to report on. Empty: the commit of the event.")
    api_url: Line | None = Field(
        None,
        description="Address of GitHub's API. Empty: the API of the runner's own server, also on GitHub Enterprise.",
    )

    @field_validator("docs", "models")
    @classmethod
    def _seeds(cls, folders: list[Path]) -> list[Path]:
        return [Path(inside(str(folder))) for folder in folders]

    @property
    def options(self) -> dict[str, Any]:
        """The keys of `nightfuzz.toml` that were given."""
        return self.model_dump(mode="json", include=self.model_fields_set & set(Settings.model_fields))


def written(name: str) -> str:
    """Return an input or a key as people write it: `nightfuzz.toml` has `_`, the Action has `-`."""
    return name if name in Settings.model_fields else name.replace("_", "-")


def _settings(text: object) -> object:
    """Read the keys from TOML.

    An error repeats no value: it may be a secret in a wrong place.
    """
    if not isinstance(text, str):
        return text
    try:
        data = {key.replace("-", "_"): value for key, value in tomllib.loads(text).items()}
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"it is not valid TOML: {error}") from error
    known = {written(name): name for name in ActionSettings.model_fields if name not in Inputs.model_fields}
    for name in data:
        if name in Inputs.model_fields:
            raise ValueError(f"{name.replace('_', '-')} is an input of its own: write it beside `settings`")
        if name not in known.values():
            close = nearest.extractOne(name, list(known))
            raise ValueError(f"unknown key {_short(name)}: did you mean {close[0]!r}?")
    return data


class Inputs(BaseModel):
    """The inputs of action.yml by their names there, `-` written as `_`.

    A test compares name, default and description in action.yml, the reusable workflows and
    docs/reference/github-action.md. Printing the inputs does not show a secret.

    Attributes:
        time: in seconds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    mode: Mode = Field(
        "nightly",
        description="What to do: `nightly` (fuzz the target), `pr` (fuzz the apis of the seeds that a pull request "
        "changes), `bump` (compare two builds on the calls of your own tests), `recheck` (run open and "
        "fixed bugs again), `report` (publish a fuzz job's results) or `listen` (execute a command in a "
        "comment). Only `report` and `listen` need a token.",
    )
    plan_only: Annotated[bool, BeforeValidator(_truth)] = Field(
        False,
        description="`true`: prepare the fuzz jobs and fuzz nothing. The step fetches the state, packs the state and "
        "the sources into the folder that `results` names, and sets the outputs `matrix` and `shards`.",
    )
    target: Line | None = Field(
        None,
        description="The build to fuzz: `torch-nightly`, `tf-nightly-cpu`, `jittor` (its newest release), "
        "`torch==2.13.0`, a wheel file, `index:URL#PACKAGE`. If the input is empty in the mode `bump`, "
        "the pull request's requirement and lock files name the build.",
    )
    baseline: Line | None = Field(
        None,
        description="An older build to compare with, written like `target`. Bugs that the baseline does not show are "
        "regressions. Empty: no comparison; in the mode `bump`, the build before the pull request.",
    )
    time: Seconds = Field(
        45 * 60.0, description="Time-box of the fuzzing, start-up and triage included: `45m`, `90s`, `1h30m`."
    )
    tests: Folders = Field(
        (), description="Directories of your own pytest or unittest files, relative to the repository; they are seeds."
    )
    settings: Annotated[ActionSettings, BeforeValidator(_settings)] = Field(
        default_factory=lambda: ActionSettings.model_validate({}),
        description="TOML text with further settings: keys of `nightfuzz.toml`, which override that file, and keys of "
        "the Action alone, such as `shards = 4` or `max-new-issues = 2`. Secrets have inputs of their "
        "own.",
    )
    fail_on: FailOn = Field(
        "never",
        description="When the mode `report` fails: `never`, on a `regression`, on a `new` bug (regressions included), "
        "or on `any` open bug.",
    )
    upstream: Upstream = Field(
        "off",
        description="Whether the bot reports bugs to the library's own repository: `off`, `draft` (writes the exact "
        "text into an issue of your repository) or `approved` (also files the text, after a person with "
        "write access has put the label on the draft).",
    )
    sandbox: Sandbox = Field(
        "auto",
        description="Where the code under test runs: `docker` (a read-only container without network and "
        "capabilities), `none` (processes with limits and a scrubbed environment) or `auto` (`docker` if "
        "the runner has an engine, else `none`). The summary names the choice.",
    )
    python_version: Python | None = Field(
        None,
        description="Python of nightfuzz and of the builds under test, such as `3.12`. Empty: the runner's own "
        "Python, 3.11 or newer.",
    )
    state: StatePlace = Field(
        "repository",
        description="The place that keeps the state between nights: `repository` (the ref `refs/nightfuzz/state`), "
        "`directory` (a directory of the runner) or `artifact` (an artifact that a plan job has made).",
    )
    state_path: Anywhere | None = Field(
        None,
        description="With `state: directory`, the directory of the state. With `state: artifact`, the folder where the "
        "artifact was unpacked.",
    )
    shard: int = Field(0, ge=0, lt=256, description="Number of this shard, from 0.")
    results: Anywhere = Field(
        Path("nightfuzz-results"),
        description="Folder for the results. The mode `report` reads the results from this folder.",
    )
    artifact: Line | None = Field(
        None,
        description="Name of the artifact with the results, which is uploaded even if the job is cancelled. Empty: no "
        "upload. Each shard needs a name of its own.",
    )
    github_token: SecretStr | None = Field(
        None,
        description="Token for the modes `report` and `listen`, and for fetching the state of a private repository "
        "with `plan-only`.",
    )
    app_private_key: SecretStr | None = Field(
        None, description="Private key (PEM) of the GitHub App that the key `app-id` names, instead of `github-token`."
    )
    upstream_token: SecretStr | None = Field(
        None,
        description="Token that may open issues in the libraries' own repositories, for `upstream` = `approved`.",
    )
    private_identity: SecretStr | None = Field(
        None,
        description="Secret key (`AGE-SECRET-KEY-1…`) of the pair whose public key is `private-recipient`. If it is "
        "given, the report job recognises private bugs of earlier nights. If not, the job keeps these "
        "bugs unread.",
    )

    @property
    def plan_folder(self) -> Path | None:
        """The folder where the plan job's artifact was unpacked; None if there is none."""
        return self.state_path if self.state == "artifact" else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets, which the caller masks in the log before any other work."""
        return tuple(secret.get_secret_value() for name in SECRETS if (secret := getattr(self, name)))


SECRETS = [name for name, field in Inputs.model_fields.items() if field.annotation == (SecretStr | None)]

_HIDDEN = {*SECRET, "private_recipient", "settings", *SECRETS}


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """Read the inputs from `INPUT_…` variables; an empty or missing input has its default.

    Raises:
        UserError: an input does not fit; the message has the first such input and its valid values.
    """
    given: dict[str, Any] = {}
    for name in Inputs.model_fields:
        text = environment.get(PREFIX + name.upper(), "").strip()
        if len(text) > LONGEST:
            raise UserError(
                f"input {written(name)} has {len(text):,} characters", f"shorten it to at most {LONGEST:,} characters"
            )
        if text:
            given[name] = text
    try:
        inputs = Inputs(**given)
    except ValidationError as error:
        raise misfit(error, lambda name: f"input {written(name)}", _HIDDEN) from error
    _check_together(inputs)
    return inputs


def misfit(error: ValidationError, where: Callable[[str], str], hidden: Collection[str] = ()) -> UserError:
    """Name the first value that does not fit, and say which values fit.

    Args:
        error: the error of the validation.
        where: returns the user's name for a field.
        hidden: fields whose values are not repeated.
    """
    first = error.errors(include_url=False)[0]
    name, *rest = map(str, first["loc"])
    label, key = where(name), name
    if name == "settings" and rest:
        key = rest[0]
        label += f": {written(key)}"
    shown = "" if key in hidden else f": {_short(str(first['input']))} does not fit"
    remedy = first["msg"].removeprefix("Value error, ")
    if first["type"] == "literal_error":
        choices = first["ctx"]["expected"].replace(" or ", ", ").replace("'", "").split(", ")
        close = nearest.extractOne(str(first["input"]).lower(), choices, score_cutoff=50)
        remedy = f"{f'did you mean {close[0]}? ' if close else ''}It has to be one of {', '.join(choices)}"
    return UserError(f"{label}{shown}", remedy)


def _short(value: str) -> str:
    return repr(value if len(value) <= 80 else f"{value[:79]}…")


def _check_together(inputs: Inputs) -> None:
    """Check combinations of inputs, each of which is valid by itself."""
    if inputs.shard >= inputs.settings.shards:
        raise UserError(
            f"input shard: {inputs.shard} is not a shard of {inputs.settings.shards}",
            f"write a number from 0 to {inputs.settings.shards - 1}",
        )
    if inputs.state != "repository" and inputs.state_path is None and not inputs.plan_only:
        raise UserError(
            f"input state-path is empty, but the input state is {inputs.state!r}",
            f"set state-path to the path of the {inputs.state} that holds the state",
        )
    if inputs.mode in TALKING and (inputs.settings.app_id is None) != (inputs.app_private_key is None):
        missing = "app-id in `settings`" if inputs.settings.app_id is None else "the input app-private-key"
        raise UserError(
            f"a GitHub App needs app-id and app-private-key, but {missing} is empty",
            "give app-id and app-private-key, or give only a github-token",
        )
    if inputs.mode in TALKING and inputs.github_token is None and inputs.app_private_key is None:
        raise UserError(
            f"mode {inputs.mode} needs a token, but the input github-token is empty",
            "add `github-token: ${{ github.token }}` to the inputs of the step",
        )
    if inputs.mode == "bump" and inputs.baseline and not inputs.target:
        raise UserError(
            f"input baseline is {inputs.baseline}, but the input target is empty",
            "give both builds, or leave both inputs empty: the mode bump then reads the builds from the diff",
        )
