"""The work of `nightfuzz init`: ask a few questions or none, write the workflows, and list the remaining steps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyrage  # type: ignore[import-untyped]
import typer
from platformdirs import user_config_path

from fuzz_core.adapters.library import DEFAULT_TARGET
from fuzz_core.cli.output import Report, TextTable
from fuzz_core.ir.errors import UserError
from nightfuzz.bot.init.action import WORKFLOWS, Action
from nightfuzz.bot.init.answers import Answers, checked
from nightfuzz.bot.init.project import ProjectFacts, look_at
from nightfuzz.bot.init.workflows import PERMISSIONS, file_name, rendered

FOLDER = Path(".github/workflows")
HOSTED = "ubuntu-latest"
# Workflows that run no fuzz job, so they have no results to encrypt.
KEYLESS = {"report", "commands"}
_SECRET = "AGE-SECRET-KEY-"  # how a secret key of age begins

Ask = Callable[[str, str], str]
"""A question and the answer that stands if none is given, to an answer."""


class KeyPair(NamedTuple):
    """A pair of keys for private findings.

    Attributes:
        public: to be written into workflows.
        file: where the secret half is.
        made: now, and not on an earlier day.
    """

    public: str
    file: Path
    made: bool


class KeyChoice(NamedTuple):
    """The user's choice about encryption.

    Attributes:
        file: for the secret key.
        asked: whether the user has asked for a pair of keys, or gets one by default.
    """

    file: Path
    asked: bool


class Choices(NamedTuple):
    """The choices of the command's user.

    Attributes:
        key: None without encryption.
    """

    root: Path
    action: Action
    key: KeyChoice | None
    force: bool


def init(choices: Choices, given: dict[str, Any], ask: Ask) -> Report:
    """Write the files and report what they need.

    Raises:
        UserError: an answer or the place does not fit; raised before the first write.
    """
    answers = checked(**_answered(given, look_at(choices.root), ask))
    files = [choices.root / FOLDER / file_name(each) for each in answers.workflows]
    if choices.key is not None and choices.key.asked and not choices.force and all(file.exists() for file in files):
        return key_report(answers, key_pair(choices.key.file))
    _check_free(choices.root, files, choices.force)
    pair = None
    if choices.key is not None and (choices.key.asked or not KEYLESS.issuperset(answers.workflows)):
        if answers.private_recipient is not None:
            raise UserError(
                "--private-recipient gives a public key, and --private-key makes a new pair of keys",
                "leave out one of the two",
            )
        pair = key_pair(choices.key.file)
        answers = answers.model_copy(update={"private_recipient": pair.public})
    for name, text in rendered(answers, choices.action).items():
        _write(choices.root / FOLDER / name, text)
    return files_report(answers, choices.action, pair)


def _answered(given: dict[str, Any], found: ProjectFacts, ask: Ask) -> dict[str, Any]:
    """Ask for the answers that the flags leave out, and return all.

    A default comes from the repository's files.
    """
    questions = {
        "workflows": (f"Workflows ({', '.join(WORKFLOWS)})", "nightly"),
        "target": ("Build to fuzz", found.newest_target or DEFAULT_TARGET),
        "runs_on": ("Labels of the runner that fuzzes", HOSTED),
        "tests": ("Directories of your own tests, - for none", ", ".join(found.tests) or "-"),
    }
    answers = {name: value for name, value in given.items() if value is not None}
    for name, (question, default) in questions.items():
        if name not in answers:
            answer = ask(question, default)
            answers[name] = answer if name == "target" else _several(answer)
    return answers


def _several(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip() not in ("", "-")]


def silent(question: str, default: str) -> str:
    """Take the default answer without a question to the user."""
    return default


def prompt(question: str, default: str) -> str:
    """Ask a person."""
    return str(typer.prompt(question, default=default))


def _check_free(root: Path, files: Sequence[Path], force: bool) -> None:
    """Raise UserError if a write would replace a file or follow a link to another folder."""
    for file in files:
        if not file.parent.resolve().is_relative_to(root.resolve()) or file.is_symlink():
            raise UserError(f"{file} is a link, or lies below a link that leads out of {root}", "remove the link")
        if file.exists() and not force:
            raise UserError(f"{file} exists already", "compare it with the new text, then add --force to overwrite it")


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}", f"make {file.parent} writable") from error


def files_report(answers: Answers, action: Action, pair: KeyPair | None) -> Report:
    """Return the files that were written, what their tokens may do, and what a person does next."""
    text: list[str | TextTable] = []
    for workflow in dict.fromkeys(answers.workflows):
        text.append(f"wrote {FOLDER / file_name(workflow)}; its token may only do this:")
        text.append(TextTable(["permission", "level", "for"], PERMISSIONS[workflow]))
    steps = list(_steps(answers, action, pair))
    text += ["The job that fuzzes has no permission, no secret and no token.", "Next:"]
    text += [f"{number}. {line}" for number, line in enumerate(steps, 1)]
    return Report({**_data(answers, pair), "written": _paths(answers), "next": steps}, text)


def key_report(answers: Answers, pair: KeyPair) -> Report:
    """Return instructions for files that exist already: the lines to write, and the key to keep."""
    text = [
        f"Keep {pair.file} safe: only this file decrypts private bugs "
        "(age -d -i KEYFILE private.age | zstd -d > state.db)."
    ]
    for path in _paths(answers):
        text.append(f"Write into {path}, below `with:`")
        text += ["      settings: |", f'        private-recipient = "{pair.public}"']
    return Report({**_data(answers, pair), "written": [], "next": text}, text)


def _paths(answers: Answers) -> list[str]:
    return [str(FOLDER / file_name(workflow)) for workflow in dict.fromkeys(answers.workflows)]


def _data(answers: Answers, pair: KeyPair | None) -> dict[str, Any]:
    """Return the answers, and the places of the keys; the secret key itself is not among them."""
    key = None if pair is None else {"public": pair.public, "file": str(pair.file), "made": pair.made}
    return {"answers": answers.model_dump(mode="json"), "key": key}


def _steps(answers: Answers, action: Action, pair: KeyPair | None) -> Iterator[str]:
    yield "Look at the files, commit them, and push them to the default branch."
    if not action.commit:
        yield f"Pin the Action to a commit: the commit of {action.reference} was not looked up, or not found."
    if not answers.is_hosted:
        labels = ", ".join(answers.runs_on)
        yield "The files contain all jobs: GitHub does not run another owner's reusable workflows on your own runners."
        yield f"Set up an ephemeral runner with the labels {labels}: {action.page}#your-own-runner"
    yield from _private(answers, pair)
    if answers.fork_environment:
        yield (
            f"Before you push, create the environment {answers.fork_environment} with required reviewers. "
            "Otherwise GitHub creates an environment without reviewers, which protects no job."
        )
    yield "Start a first run: open Actions, select the workflow, click Run workflow. The first issue makes the labels."


def _private(answers: Answers, pair: KeyPair | None) -> Iterator[str]:
    if pair is not None:
        made = "new" if pair.made else "existing"
        yield (
            f"Keep {pair.file} safe. The {made} public key, {pair.public}, is in the workflows. The key encrypts "
            "private (security) bugs, and findings that are not examined yet. Only the secret key in that file "
            "decrypts them: age -d -i KEYFILE private.age | zstd -d > state.db"
        )
        if "nightly" in answers.workflows:
            yield (
                "To examine these findings in the next night, store the line AGE-SECRET-KEY-… of that file as the "
                "repository secret NIGHTFUZZ_IDENTITY. Give the secret to the report job as private-identity: "
                "${{ secrets.NIGHTFUZZ_IDENTITY }}. The fuzz job never gets the secret."
            )
    elif answers.private_recipient is None:
        yield (
            "Private (security) bugs, and findings that are not examined yet, are counted and then lost. "
            "--private-key keeps these bugs and findings, encrypted for you."
        )


def default_file(project: str) -> Path:
    """Return the file of a project's secret key, outside of the project."""
    return user_config_path("nightfuzz") / f"{project}.agekey"


def key_pair(file: Path) -> KeyPair:
    """Return the pair whose secret half is in the file, made if the file does not exist.

    Its owner alone may read the file.

    Raises:
        UserError: the place is inside a git repository, or the file holds no key. The file is never overwritten.
    """
    file = file.expanduser().absolute()
    if any((place / ".git").exists() for place in file.resolve().parents):
        raise UserError(
            f"{file} is inside a git repository, where a secret key must not be",
            "name a file outside of every repository with --key-file",
        )
    if file.exists():
        return KeyPair(_public(file), file, False)
    identity = pyrage.x25519.Identity.generate()
    public = str(identity.to_public())
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(f"# public key: {public}\n{identity}\n")
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}", "name another file with --key-file") from error
    return KeyPair(public, file, True)


def _public(file: Path) -> str:
    remedy = "move the file away, or name another file with --key-file"
    try:
        lines = [line for line in file.read_text(encoding="ascii").splitlines() if line.startswith(_SECRET)]
        return str(pyrage.x25519.Identity.from_str(lines[0]).to_public())
    except (OSError, UnicodeDecodeError, IndexError, pyrage.IdentityError) as error:
        raise UserError(f"{file} contains no secret key of the tool `age`", remedy) from error
