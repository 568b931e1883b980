"""`nightfuzz`: the commands that are about what was found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fuzz_core.cli import options
from fuzz_core.cli.command import Work, perform

app = typer.Typer()
known_app = typer.Typer(help="Known findings: reported already, or declared by the library.", no_args_is_help=True)


@app.command()
def bugs(
    config: options.Config = None,
    state: options.State = None,
    target: Annotated[str | None, typer.Option("--target", help="Key of a target [default: all]")] = None,
    by_cluster: Annotated[bool, typer.Option("--clusters", help="One line per cluster of one cause")] = False,
    as_json: options.Json = False,
) -> None:
    """List confirmed bugs, the most urgent first."""
    from fuzz_core.cli import bugs as listed

    perform(lambda settings, console: listed.bugs(settings, console, target, by_cluster, as_json), config, state=state)


@app.command()
def show(bug: int, config: options.Config = None, state: options.State = None, as_json: options.Json = False) -> None:
    """Show one bug in full."""
    from fuzz_core.cli import bugs as listed

    perform(lambda settings, console: listed.show(settings, console, bug, as_json), config, state=state)


@app.command()
def repro(
    bug: int,
    run_now: Annotated[bool, typer.Option("--run", help="Run it now in a fresh process")] = False,
    config: options.Config = None,
    state: options.State = None,
) -> None:
    """Print a bug's standalone script; --run runs it and exits with 1 when it reproduces."""
    from fuzz_core.cli import repro as script

    perform(lambda settings, console: script.repro(settings, console, bug, run_now), config, state=state)


@app.command()
def report(
    bugs: Annotated[
        list[int] | None, typer.Argument(help="Number of the bug; several, or none, with --umbrella")
    ] = None,
    umbrella: Annotated[bool, typer.Option("--umbrella", help="Crashes on invalid input, a line for each")] = False,
    regression: Annotated[bool, typer.Option("--regression", help="What a baseline does not show")] = False,
    baseline: Annotated[str | None, typer.Option("--baseline", help="Key of the target that does not show it")] = None,
    run_now: Annotated[bool, typer.Option("--run", help="Run the script now for its whole output")] = False,
    private: Annotated[bool, typer.Option("--private", help="Also what may only be told in a private place")] = False,
    output: Annotated[Path | None, typer.Option("--output", help="File to write [default: print]")] = None,
    target: options.TargetOption = None,
    config: options.Config = None,
    state: options.State = None,
) -> None:
    """Print a bug as the text of an issue in its library's own form. Nothing is sent anywhere."""
    from fuzz_core.cli import reporting

    wanted = reporting.Wanted(umbrella, regression, baseline, run_now, private, output)
    work: Work = lambda settings, console: reporting.report(settings, console, bugs or [], wanted)  # noqa: E731
    perform(work, config, state=state, target=target)


@known_app.command("add")
def known_add(
    bug: int,
    issue: Annotated[str | None, typer.Option("--issue", help="URL of the issue that reports it")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why it is not to be reported")] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", help="The day on which it speaks again: 2027-03-31")
    ] = None,
    config: options.Config = None,
    state: options.State = None,
) -> None:
    """Write a bug into the file of known findings: from then on it is counted, not reported."""
    from fuzz_core.cli import known

    perform(lambda settings, console: known.add(settings, console, bug, issue, reason, expires), config, state=state)


@known_app.command("list")
def known_list(config: options.Config = None, state: options.State = None, as_json: options.Json = False) -> None:
    """List the entries, what each has matched, and when it expires."""
    from fuzz_core.cli import known

    perform(lambda settings, console: known.listing(settings, console, as_json), config, state=state)


@known_app.command("remove")
def known_remove(
    name: Annotated[str, typer.Argument(help="Name of the entry")],
    config: options.Config = None,
    state: options.State = None,
) -> None:
    """Take an entry out of the file: what only it matched is reported again."""
    from fuzz_core.cli import known

    perform(lambda settings, console: known.remove(settings, console, name), config, state=state)
