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
    """public: to be written into workflows. file: where the secret half is. made: now, and not on an earlier day."""

    public: str
    file: Path
    made: bool


class KeyChoice(NamedTuple):
    """file: for the secret key. asked: whether the user has asked for a pair of keys, or gets one by default."""

    file: Path
    asked: bool


class Choices(NamedTuple):
    """The choices of the command's user. key: None without encryption."""

    root: Path
    action: Action
    key: KeyChoice | None
    force: bool


def init(choices: Choices, given: dict[str, Any], ask: Ask) -> Report:
    """Write the files and report what they need. Raises UserError before the first write."""
    answers = checked(**_answered(given, look_at(choices.root), ask))
    files = [choices.root / FOLDER / file_name(each) for each in answers.workflows]
    if choices.key is not None and choices.key.asked and not choices.force and all(file.exists() for file in files):
        return key_report(answers, key_pair(choices.key.file))
    _check_free(choices.root, files, choices.force)
    pair = None
    if choices.key is not None and (choices.key.asked or not KEYLESS.issuperset(answers.workflows)):
        if answers.private_recipient is not None:
            raise UserError("a public key is given, and a pair of keys is asked for", "use one of the two options")
        pair = key_pair(choices.key.file)
        answers = answers.model_copy(update={"private_recipient": pair.public})
    for name, text in rendered(answers, choices.action).items():
        _write(choices.root / FOLDER / name, text)
    return files_report(answers, choices.action, pair)


def _answered(given: dict[str, Any], found: ProjectFacts, ask: Ask) -> dict[str, Any]:
    """Ask for the answers that the flags leave out, and return all. A default comes from the repository's files."""
    questions = {
        "workflows": (f"Which workflows ({', '.join(WORKFLOWS)})", "nightly"),
        "target": ("Which build to fuzz", found.target or DEFAULT_TARGET),
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
    """Asks a person."""
    return str(typer.prompt(question, default=default))


def _check_free(root: Path, files: Sequence[Path], force: bool) -> None:
    """Raise UserError if a write would replace a file or follow a link to another folder."""
    for file in files:
        if not file.parent.resolve().is_relative_to(root.resolve()) or file.is_symlink():
            raise UserError(f"{file} leads out of {root}", "remove the link")
        if file.exists() and not force:
            raise UserError(f"{file} is there already", "compare, then use --force to overwrite it")


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {file}: {error.strerror}", "check the folder's permissions") from error


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
    """Return what to write into files that are there already, and what to keep."""
    text = [f"Keep {pair.file} safe: it alone reads what is encrypted (age -d -i KEYFILE private.age)."]
    for path in _paths(answers):
        text.append(f"Write into {path}, below `with:`")
        text += ["      settings: |", f'        private-recipient = "{pair.public}"']
    return Report({**_data(answers, pair), "written": [], "next": text}, text)


def _paths(answers: Answers) -> list[str]:
    return [str(FOLDER / file_name(workflow)) for workflow in dict.fromkeys(answers.workflows)]


def _data(answers: Answers, pair: KeyPair | None) -> dict[str, Any]:
    """The answers, and the places of the keys; the secret key itself is not among them."""
    key = None if pair is None else {"public": pair.public, "file": str(pair.file), "made": pair.made}
    return {"answers": answers.model_dump(mode="json"), "key": key}


def _steps(answers: Answers, action: Action, pair: KeyPair | None) -> Iterator[str]:
    yield "Look at the files, commit them, and push them to the default branch."
    if not action.commit:
        yield f"Pin the Action to a commit: that of {action.reference} was not looked up, or was not to be found."
    if not answers.is_hosted:
        labels = ", ".join(answers.runs_on)
        yield "The files hold their jobs themselves: GitHub keeps reusable workflows of another owner off your runners."
        yield f"Set up an ephemeral runner with the labels {labels}: {action.page}#your-own-runner"
    yield from _private(answers, pair)
    if answers.fork_environment:
        yield (
            f"Make the environment {answers.fork_environment} with required reviewers before you push: GitHub makes a "
            "missing one without any, and then it protects no job."
        )
    yield "Start a first run: Actions, the workflow, Run workflow. Labels of issues are made with the first issue."


def _private(answers: Answers, pair: KeyPair | None) -> Iterator[str]:
    if pair is not None:
        made = "A new pair of keys" if pair.made else "The pair of keys that was there already"
        yield (
            f"Keep {pair.file} safe. {made}: its public half, {pair.public}, is in the files; bugs that must not be "
            "public, and findings that wait for their examination, are encrypted with it and read with the secret half "
            "alone: age -d -i KEYFILE private.age"
        )
        if "nightly" in answers.workflows:
            yield (
                "So that the next night goes on with them, store the line AGE-SECRET-KEY-… of that file as a secret of "
                "the repository, NIGHTFUZZ_IDENTITY, and give that to the report job as private-identity: "
                "${{ secrets.NIGHTFUZZ_IDENTITY }}. The job that fuzzes never gets it."
            )
    elif answers.private_recipient is None:
        yield (
            "Bugs that must not be public, and findings that wait for their examination, are counted and then lost. "
            "With --private-key they are kept, encrypted for you."
        )


def default_file(project: str) -> Path:
    """Return the file of a project's secret key, outside of the project."""
    return user_config_path("nightfuzz") / f"{project}.agekey"


def key_pair(file: Path) -> KeyPair:
    """The pair whose secret half is in the file, made if the file does not exist. Its owner alone may read the file.

    Raises UserError inside a git repository, and for a file that holds no key: the file is never overwritten.
    """
    file = file.expanduser().absolute()
    if any((place / ".git").exists() for place in file.resolve().parents):
        raise UserError(f"{file} is inside a git repository", "name a file outside of any with --key-file")
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
    remedy = "move it away, or name another file with --key-file"
    try:
        lines = [line for line in file.read_text(encoding="ascii").splitlines() if line.startswith(_SECRET)]
        return str(pyrage.x25519.Identity.from_str(lines[0]).to_public())
    except (OSError, UnicodeDecodeError, IndexError, pyrage.IdentityError) as error:
        raise UserError(f"{file} holds no key of age", remedy) from error
