"""The command line: nightfuzz's own commands, and the commands about GitHub."""

from __future__ import annotations

from typing import Annotated

import typer

import fuzz_core
from fuzz_core.cli.app import FIRST, SHORT_HELP
from fuzz_core.cli.app import app as own
from fuzz_core.cli.flags import CommandLine, argument, epilog, register, switch
from fuzz_core.cli.streams import open_output
from fuzz_core.cli.usage import CommandGroup
from nightfuzz.bot.init.command import init_command

app = typer.Typer(cls=CommandGroup, epilog=epilog(FIRST), no_args_is_help=True, context_settings=SHORT_HELP)
app.add_typer(own)
app.command("init", epilog=epilog(["init", "init --target torch-nightly --at 03:17 --yes"]))(init_command)


register(
    app,
    "advise",
    CommandLine(
        "Print a private bug for its library's security contact, with what to do; --send reports it privately.",
        "nightfuzz.bot.upstream.advisory:advise",
        "state",
        {
            "bug": argument(int),
            "send": switch("--send", "Send it as a private vulnerability report; needs GITHUB_TOKEN"),
        },
        examples=("advise 3", "advise 3 --send", "advise 3 --json"),
    ),
)
action = typer.Typer(
    cls=CommandGroup, no_args_is_help=True, help="The steps of the GitHub Action: they read INPUT_… variables."
)
app.add_typer(action, name="action")


def _add_step(name: str, text: str) -> None:
    """Add `nightfuzz action NAME`; the step's module is loaded when it runs."""

    def command() -> None:
        from nightfuzz.bot.jobs import steps

        steps.perform(getattr(steps, f"{name}_step"))

    action.command(name, help=text)(command)


for _name, _text in {
    "fuzz": "Fuzz: pull the targets, run known bugs again, trace, fuzz, examine. Needs no token and passes none on.",
    "export": "Put together what a fuzz job has found, also where it was cancelled.",
    "plan": "Fetch the state and pack it with the sources for the fuzz job.",
    "report": "Report what fuzz jobs found: issues for a night, a comment and a check for a pull request.",
    "listen": "Heed a command in the comment that the job was started by.",
}.items():
    _add_step(_name, _text)


def _tell_version(asked: bool) -> None:
    """Print the version and end the program, if the flag is given."""
    if asked:
        typer.echo(f"nightfuzz {fuzz_core.__version__}")
        raise typer.Exit


@app.callback(help=own.info.help)
def every(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Say which nightfuzz this is")
    ] = False,
) -> None:
    """Options of every command."""


def main() -> None:
    """Entry point of the console script."""
    open_output()
    app(prog_name="nightfuzz")


if __name__ == "__main__":
    main()
