"""`nightfuzz init`: asks a few questions, or none, and writes the workflows that call nightfuzz."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from bot.init.answers import WORKFLOWS, checked
from bot.init.detecting import Found, look_at, repository_of
from bot.init.keys import default_file, key_pair
from bot.init.pinning import DEFAULT, SERVER, Action, action_of, pinned
from bot.init.rendering import file_name, rendered
from bot.init.telling import HOSTED, tell, tell_key
from fuzz_core.cli.boundary import guarded
from fuzz_core.ir.errors import UserError

FOLDER = Path(".github/workflows")

Ask = Callable[[str, str], str]
"""A question and the answer that stands if none is given, to an answer."""


class Choices(NamedTuple):
    """How the command goes about it. key_file: for a pair of keys, None where none is wanted."""

    root: Path
    action: Action
    key_file: Path | None
    force: bool


def init_command(
    into: Annotated[Path, typer.Option("--into", help="A folder of your project")] = Path(),
    workflow: Annotated[
        list[str] | None, typer.Option("--workflow", help=f"{', '.join(WORKFLOWS)} [default: nightly]")
    ] = None,
    target: Annotated[str | None, typer.Option("--target", help="What to fuzz, as for `pull`")] = None,
    baseline: Annotated[str | None, typer.Option("--baseline", help="An older build to compare with")] = None,
    runs_on: Annotated[
        list[str] | None, typer.Option("--runs-on", help="Label of the runner that fuzzes; several need all of them")
    ] = None,
    tests: Annotated[list[str] | None, typer.Option("--tests", help="Directory of your own tests")] = None,
    models: Annotated[list[str] | None, typer.Option("--models", help="Directory of your own model programs")] = None,
    docs: Annotated[list[str] | None, typer.Option("--docs", help="Directory of your own documentation")] = None,
    time: Annotated[str | None, typer.Option("--time", help="Time-box of a night: 45m")] = None,
    at: Annotated[str | None, typer.Option("--at", help="When the night begins, in UTC: 03:17")] = None,
    shards: Annotated[int | None, typer.Option("--shards", help="How many jobs share the apis")] = None,
    sandbox: Annotated[str | None, typer.Option("--sandbox", help="auto, docker or none")] = None,
    upstream: Annotated[str | None, typer.Option("--upstream", help="off, draft or approved")] = None,
    fork_environment: Annotated[
        str | None, typer.Option("--fork-environment", help="Environment with reviewers, for forks [default: never]")
    ] = None,
    private_recipient: Annotated[str | None, typer.Option("--private-recipient", help="Public key of age")] = None,
    private_key: Annotated[bool, typer.Option("--private-key", help="Make a pair of keys for private bugs")] = False,
    key_file: Annotated[Path | None, typer.Option("--key-file", help="Where the secret key is kept")] = None,
    action: Annotated[str, typer.Option("--action", help="The Action to use: OWNER/REPO@REF")] = DEFAULT,
    server: Annotated[str, typer.Option("--server", help="Where that is")] = SERVER,
    pin: Annotated[bool, typer.Option("--pin/--no-pin", help="Look up the commit of REF")] = True,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there")] = False,
) -> None:
    """Write the workflows that run nightfuzz into a repository, and explain the permissions they need."""
    given: dict[str, Any] = {
        "workflows": workflow or None, "target": target, "baseline": baseline, "runs_on": runs_on or None,
        "tests": tests or None, "models": models or None, "docs": docs or None, "time": time, "at": at,
        "shards": shards, "sandbox": sandbox, "upstream": upstream, "fork_environment": fork_environment,
        "private_recipient": private_recipient,
    }  # fmt: skip

    def work() -> int:
        root = repository_of(into)
        wanted = key_file or (default_file(root.name) if private_key else None)
        found = action_of(action, server)
        choices = Choices(root, pinned(found) if pin else found, wanted, force)
        return init(choices, given, _silent if yes else _prompt, Console())

    raise typer.Exit(guarded(work))


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
        "target": ("Which build to fuzz", found.target or "torch-nightly"),
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


def _silent(question: str, default: str) -> str:
    return default


def _prompt(question: str, default: str) -> str:
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
