"""What `nightfuzz init` says when it is done: which permissions the files have, and what is left for a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from fuzz_core.cli.display import table
from nightfuzz.bot.init.answers import Answers
from nightfuzz.bot.init.keys import Pair
from nightfuzz.bot.init.pinning import Action
from nightfuzz.bot.init.rendering import PERMISSIONS, file_name

HOSTED = "ubuntu-latest"


def tell(console: Console, folder: Path, answers: Answers, action: Action, pair: Pair | None) -> None:
    """Prints it. folder: of the files, as the user knows it."""
    for workflow in dict.fromkeys(answers.workflows):
        _say(console, f"wrote {folder / file_name(workflow)}; its token may do this, and nothing else:")
        table(console, ["permission", "level", "for"], [list(row) for row in PERMISSIONS[workflow]])
    _say(console, "The job that fuzzes has no permission, no secret and no token.")
    _say(console, "Next:")
    for number, line in enumerate(_steps(answers, action, pair), 1):
        _say(console, f"{number}. {line}")


def tell_key(console: Console, folder: Path, answers: Answers, pair: Pair) -> None:
    """For files that are there already: what to write into them, and what to keep."""
    _say(console, f"Keep {pair.file} safe: it alone reads what is encrypted (age -d -i KEYFILE private.age).")
    for workflow in dict.fromkeys(answers.workflows):
        _say(console, f"Write into {folder / file_name(workflow)}, below `with:`")
        _say(console, "      settings: |")
        _say(console, f'        private-recipient = "{pair.public}"')


def _steps(answers: Answers, action: Action, pair: Pair | None) -> Iterator[str]:
    yield "Look at the files, commit them, and push them to the default branch."
    if not action.commit:
        yield f"Pin the Action to a commit: that of {action.reference} was not looked up, or was not to be found."
    if answers.runs_on != (HOSTED,):
        labels = ", ".join(answers.runs_on)
        yield f"Set up an ephemeral runner with the labels {labels}: {action.page}#your-own-runner"
    yield from _private(answers, pair)
    if answers.fork_environment:
        yield (
            f"Make the environment {answers.fork_environment} with required reviewers before you push: GitHub makes a "
            "missing one without any, and then it protects nothing."
        )
    yield "Start a first run: Actions, the workflow, Run workflow. Labels of issues are made with the first issue."


def _private(answers: Answers, pair: Pair | None) -> Iterator[str]:
    if pair is not None:
        made = "A new pair of keys" if pair.made else "The pair of keys that was there already"
        yield (
            f"Keep {pair.file} safe. {made}: its public half, {pair.public}, is in the files; bugs that must not be "
            "public are encrypted with it and read with the secret half alone: age -d -i KEYFILE private.age"
        )
    elif answers.private_recipient is None:
        yield "Bugs that must not be public are only counted. With --private-key they are kept, encrypted for you."


def _say(console: Console, line: str) -> None:
    console.print(line, markup=False, highlight=False, soft_wrap=True)
