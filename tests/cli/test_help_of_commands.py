"""Help of every command: short form, examples that the parser takes, completion; `explain` for every kind of bug."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import click
import pytest
import typer
from commands import Cli
from typer.testing import CliRunner

from fuzz_core.cli.app import COMMANDS, FIRST
from fuzz_core.oracles.kinds import KINDS
from nightfuzz.bot.main import app

EXAMPLES = [each for command in COMMANDS.values() for each in command.examples] + [*FIRST, "advise 3", "init"]


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_examples_of_its_own(words: str) -> None:
    examples = COMMANDS[words].examples
    assert examples and all(each == words or each.startswith(f"{words} ") for each in examples)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_parser_takes_every_example(example: str) -> None:
    # The part after a pipe or an arrow belongs to the shell.
    words = shlex.split(example.partition(" > ")[0])
    context, command = click.Context(typer.main.get_command(app)), typer.main.get_command(app)
    while isinstance(command, click.Group | typer.core.TyperGroup):
        context, name = click.Context(command, parent=context), words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, name
        command = found
    command.make_context(example, words, parent=context)


@pytest.mark.parametrize("words", ["", "bugs", "known", "known add", "init", "advise"])
def test_help_has_a_short_form(words: str) -> None:
    short, long = (CliRunner().invoke(app, [*words.split(), flag]) for flag in ("-h", "--help"))
    assert (short.exit_code, short.output) == (0, long.output)
    assert "Usage: " in short.output


@pytest.mark.parametrize(("typed", "offered"), [("nightfuzz bum", "bump"), ("nightfuzz fuzz --tim", "--time")])
def test_a_shell_can_complete_commands_and_flags(typed: str, offered: str) -> None:
    count = str(len(typed.split()) - 1)
    asked = {"_NIGHTFUZZ_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": count}
    code = "from nightfuzz.bot.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True)
    assert offered in done.stdout.split(), done


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_bug_is_explained(cli: Cli, kind: str) -> None:
    done = cli("explain", kind)
    assert done.code == 0, done
    for part in (f"{kind}: ", "confirmed when: ", "wrong when: "):
        assert part in done.out
    assert cli("explain", kind, "--json").json["wrong when"]


def test_explain_lists_the_kinds_and_guesses_what_was_meant(cli: Cli) -> None:
    assert [each["kind"] for each in cli("explain", "--json").json] == list(KINDS)
    done = cli("explain", "wrong-gradeint")
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'wrong-gradient'?" in done.err
