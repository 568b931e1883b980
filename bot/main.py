"""The command line: nightfuzz's own commands, and those that are about GitHub."""

from __future__ import annotations

import typer

from bot.advise import advise_command
from bot.init.command import init_command
from bot.jobs.commands import app as action
from fuzz_core.cli.main import app as own

app = typer.Typer(help=own.info.help, no_args_is_help=True, add_completion=False)
app.add_typer(own)
app.command("init")(init_command)
app.command("advise")(advise_command)
app.add_typer(action, name="action")


def main() -> None:
    """Entry point of the console script."""
    app()


if __name__ == "__main__":
    main()
