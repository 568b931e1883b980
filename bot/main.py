"""The command line: nightfuzz's own commands, and those that are about GitHub."""

from __future__ import annotations

from typing import Annotated

import typer

import fuzz_core
from fuzz_core.cli.app import app as own
from fuzz_core.cli.flags import CommandLine, argument, register, switch
from nightfuzz.bot.init.command import init_command
from nightfuzz.bot.jobs.commands import app as action

app = typer.Typer(no_args_is_help=True, add_completion=False)
app.add_typer(own)
app.command("init")(init_command)


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
        speaks_json=False,
    ),
)
app.add_typer(action, name="action")


def _tell_version(asked: bool) -> None:
    """Prints it and ends the program, where it is asked for."""
    if asked:
        typer.echo(f"nightfuzz {fuzz_core.__version__}")
        raise typer.Exit


@app.callback(help=own.info.help)
def every(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Say which nightfuzz this is")
    ] = False,
) -> None:
    """What is asked of any command."""


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="nightfuzz")


if __name__ == "__main__":
    main()
