"""`nightfuzz action …`: the steps of the Action. Each loads what it works with when it is asked for."""

from __future__ import annotations

import typer

app = typer.Typer(no_args_is_help=True, help="The steps of the GitHub Action: they read INPUT_… variables.")


@app.command()
def fuzz() -> None:
    """Fuzz: pull the targets, run known bugs again, trace, fuzz, examine. Needs no token and passes none on."""
    from nightfuzz.bot.jobs import action

    action.perform(action.fuzz_step)


@app.command()
def export() -> None:
    """Put together what a fuzz job has found, also where it was cancelled."""
    from nightfuzz.bot.jobs import action

    action.perform(action.export_step)


@app.command("plan")
def plan_() -> None:
    """Fetch the state and pack it with the sources for the fuzz job."""
    from nightfuzz.bot.jobs import action

    action.perform(action.plan_step)


@app.command()
def report() -> None:
    """Tell what fuzz jobs have found: issues for a night, a comment and a check for a pull request."""
    from nightfuzz.bot.jobs import action

    action.perform(action.report_step)


@app.command()
def listen() -> None:
    """Heed a command in the comment that the job was started by."""
    from nightfuzz.bot.jobs import action

    action.perform(action.listen_step)
