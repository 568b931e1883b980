"""The command line: nightfuzz's own commands, and those that are about GitHub."""

from __future__ import annotations

from typing import Annotated

import typer

import fuzz_core
from fuzz_core.cli import options
from fuzz_core.cli.command import perform
from fuzz_core.cli.main import app as own
from nightfuzz.bot.init.command import init_command
from nightfuzz.bot.jobs.commands import app as action

app = typer.Typer(no_args_is_help=True, add_completion=False)
app.add_typer(own)
app.command("init")(init_command)


@app.command("advise")
def advise_command(
    bug: int,
    config: options.Config = None,
    state: options.State = None,
    send: Annotated[
        bool, typer.Option("--send", help="Send it as a private vulnerability report; needs GITHUB_TOKEN")
    ] = False,
) -> None:
    """Print a private bug for its library's security contact, with what to do; --send reports it privately."""
    from nightfuzz.bot.advise import advise

    perform(lambda settings, console: advise(settings, console, bug, send), config, state=state)


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
    app()


if __name__ == "__main__":
    main()
