"""What `nightfuzz init` does: asks a few questions, or none, and writes the workflows that call nightfuzz."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console

from fuzz_core.adapters.library import DEFAULT_TARGET
from fuzz_core.ir.errors import UserError
from nightfuzz.bot.init.answers import checked
from nightfuzz.bot.init.detecting import Found, look_at
from nightfuzz.bot.init.keys import key_pair
from nightfuzz.bot.init.kinds import WORKFLOWS
from nightfuzz.bot.init.pinning import Action
from nightfuzz.bot.init.rendering import file_name, rendered
from nightfuzz.bot.init.telling import HOSTED, tell, tell_key

FOLDER = Path(".github/workflows")

Ask = Callable[[str, str], str]
"""A question and the answer that stands if none is given, to an answer."""


class Choices(NamedTuple):
    """How the command goes about it. key_file: for a pair of keys, None where none is wanted."""

    root: Path
    action: Action
    key_file: Path | None
    force: bool


def init(choices: Choices, given: dict[str, Any], ask: Ask, console: Console) -> int:
    """Writes the files and says what they need. Raises UserError before anything is written."""
    answers = checked(**_answered(given, look_at(choices.root), ask))
    files = [choices.root / FOLDER / file_name(each) for each in answers.workflows]
    if choices.key_file is not None and not choices.force and all(file.exists() for file in files):
        tell_key(console, FOLDER, answers, key_pair(choices.key_file))
        return 0
    _check_free(choices.root, files, choices.force)
    pair = None
    if choices.key_file is not None:
        if answers.private_recipient is not None:
            raise UserError("a public key is given, and a pair of keys is asked for", "use one of the two options")
        pair = key_pair(choices.key_file)
        answers = answers.model_copy(update={"private_recipient": pair.public})
    for name, text in rendered(answers, choices.action).items():
        _write(choices.root / FOLDER / name, text)
    tell(console, FOLDER, answers, choices.action, pair)
    return 0


def _answered(given: dict[str, Any], found: Found, ask: Ask) -> dict[str, Any]:
    """What flags have not said is asked for, with what the repository shows as the answer that stands."""
    questions = {
        "workflows": (f"Which workflows ({', '.join(WORKFLOWS)})", "nightly"),
        "target": ("Which build to fuzz", found.target or DEFAULT_TARGET),
        "runs_on": ("Labels of the runner that fuzzes", HOSTED),
        "tests": ("Directories of your own tests, - for none", ", ".join(found.tests) or "-"),
    }
    said = {name: value for name, value in given.items() if value is not None}
    for name, (question, default) in questions.items():
        if name not in said:
            answer = ask(question, default)
            said[name] = answer if name == "target" else _several(answer)
    return said


def _several(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip() not in ("", "-")]


def silent(question: str, default: str) -> str:
    """Takes the answer that stands, and asks nobody."""
    return default


def prompt(question: str, default: str) -> str:
    """Asks a person."""
    return str(typer.prompt(question, default=default))


def _check_free(root: Path, files: Sequence[Path], force: bool) -> None:
    """Raises UserError where something would be overwritten, or would be written elsewhere through a link."""
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
