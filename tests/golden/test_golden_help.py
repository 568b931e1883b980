"""Golden tests of the `--help` text of every command and subcommand."""

from __future__ import annotations

import re
from collections.abc import Iterator

import typer
from golden_file import check_golden
from typer.testing import CliRunner

from nightfuzz.bot.main import app

_COLOUR = re.compile(r"\x1b\[[\d;]*m")


def test_every_help_text_is_as_it_was() -> None:
    texts = {" ".join(path): _help(path) for path in _paths()}
    check_golden("help.json", texts)


def _paths() -> Iterator[list[str]]:
    """Yields the paths of all commands, outer commands first."""
    yield []
    waiting = [([], typer.main.get_command(app))]
    while waiting:
        path, command = waiting.pop(0)
        for name, inner in sorted(getattr(command, "commands", {}).items()):
            yield [*path, name]
            waiting.append(([*path, name], inner))


def _help(path: list[str]) -> list[str]:
    shown = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"})
    assert shown.exit_code == 0, shown.output
    lines = (line.strip(" │╭╮╰╯─") for line in _COLOUR.sub("", shown.output).splitlines())
    return [line for line in lines if line]
