"""`nightfuzz gandalf`: what models that several libraries compute are made of."""

from __future__ import annotations

from typing import Annotated

import typer

from fuzz_core.cli import options
from fuzz_core.cli.command import Work, perform

app = typer.Typer(
    help="Models that several libraries compute: their operators, and which follow which in programs.",
    no_args_is_help=True,
)
Names = Annotated[list[str] | None, typer.Argument(help="Operators [default: all that the libraries have]")]
Draws = Annotated[int, typer.Option("--draws", min=1, help="How often each kind of data is drawn")]
Name = Annotated[str | None, typer.Argument(help="An operator: what follows it [default: what follows which]")]


@app.command()
def operators(config: options.Config = None, as_json: options.Json = False) -> None:
    """List the operators, with what each library calls, cannot do, or does wrong."""
    from fuzz_core.cli.operators import operators_command

    work: Work = lambda _, console: operators_command(console, as_json)  # noqa: E731
    perform(work, config)


@app.command()
def order(
    name: Name = None, config: options.Config = None, models: options.Models = None, as_json: options.Json = False
) -> None:
    """List which operators follow which, how often, and in which programs."""
    from fuzz_core.cli.operators import order_command

    work: Work = lambda settings, console: order_command(settings, console, name, as_json)  # noqa: E731
    perform(work, config, models=models)


@app.command()
def verify(
    names: Names = None,
    config: options.Config = None,
    state: options.State = None,
    libraries: options.Libraries = None,
    seed: options.SeedNumber = None,
    draws: Draws = 1,
    as_json: options.Json = False,
) -> None:
    """Ask libraries for each operator on drawn and extreme data; exits with 1 where they do not agree."""
    from fuzz_core.cli.operators import verify_command

    work: Work = lambda settings, console: verify_command(settings, console, names or (), draws, as_json)  # noqa: E731
    perform(work, config, state=state, libraries=libraries, seed=seed)
