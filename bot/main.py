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
        "Print a report of a private bug (one that may be a security problem), and the steps to send it in private.",
        "nightfuzz.bot.upstream.advisory:advise",
        "state",
        {
            "bug": argument(int, "Number of the private bug, as `bugs` lists it"),
            "send": switch(
                "--send",
                "Send the report to the library on GitHub as a private vulnerability report; needs GITHUB_TOKEN",
            ),
        },
        examples=("advise 3", "advise 3 --send", "advise 3 --json"),
    ),
)
action = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Steps of the GitHub Action. They read their inputs from INPUT_… environment variables.",
)
app.add_typer(action, name="action")


def _add_step(name: str, text: str) -> None:
    """Add `nightfuzz action NAME`; the step's module is loaded when it runs."""

    def command() -> None:
        from nightfuzz.bot.jobs import steps

        steps.perform(getattr(steps, f"{name}_step"))

    action.command(name, help=text)(command)


for _name, _text in {
    "fuzz": "Install the targets, run open and fixed bugs again, trace, fuzz, confirm bugs. The code under test gets "
    "no token.",
    "export": "Collect the results of a fuzz job, even of a cancelled one.",
    "plan": "Fetch the state (results of earlier runs), and pack it with your sources for the fuzz job.",
    "report": "Report the results of fuzz jobs: issues after a nightly run; on a pull request, a comment and a check.",
    "listen": "Execute the bot commands in the GitHub comment that started the job.",
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
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version")
    ] = False,
) -> None:
    """Take the options of every command."""


def main() -> None:
    """Run the console script."""
    open_output()
    app(prog_name="nightfuzz")


if __name__ == "__main__":
    main()
