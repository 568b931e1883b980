"""`nightfuzz`: the commands. Each loads what it works with when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fuzz_core.cli import builds, found, gandalf, moco, options
from fuzz_core.cli.command import Work, perform, sandboxed

if TYPE_CHECKING:
    from rich.console import Console

    from fuzz_core.cli.config import Settings

app = typer.Typer(
    help="A continuous fuzzing bot for deep-learning libraries.", no_args_is_help=True, add_completion=False
)
app.add_typer(found.app)
app.add_typer(found.known_app, name="known")
app.add_typer(builds.app)
app.add_typer(moco.app, name="moco")
app.add_typer(gandalf.app, name="gandalf")


@app.command()
def doctor(config: options.Config = None, state: options.State = None, as_json: options.Json = False) -> None:
    """Say what is here and what is missing, each with its remedy."""
    from fuzz_core.cli import listings

    perform(lambda settings, console: listings.doctor(settings, console, as_json), config, state=state)


@app.command()
def pull(
    specs: Annotated[list[str], typer.Argument(help="torch==2.13.0, jittor, torch-nightly/cpu, a wheel, python:PATH")],
    config: options.Config = None,
    state: options.State = None,
    flavour: options.Flavour = None,
    library: options.Library = None,
    index: options.Index = None,
    allow_cached: options.AllowCached = None,
    as_json: options.Json = False,
) -> None:
    """Make targets, and say exactly what got installed."""
    from fuzz_core.cli import targets

    perform(
        lambda settings, console: targets.pull(settings, console, specs, as_json),
        config,
        state=state,
        flavour=flavour,
        library=library,
        index=index,
        allow_cached=allow_cached,
    )


@app.command()
def trace(
    context: typer.Context,
    config: options.Config = None,
    state: options.State = None,
    target: options.TargetOption = None,
    flavour: options.Flavour = None,
    library: options.Library = None,
    workers: options.Workers = None,
    source: options.Source = None,
    docs: options.Docs = None,
    tests: options.TestsDir = None,
    models: options.Models = None,
    seed_time: options.SeedTime = None,
    api: options.ApiPattern = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Key of the build to take over from [default: newest]")
    ] = None,
    sandbox: options.Sandbox = None,
    as_json: options.Json = False,
) -> None:
    """Collect seeds and trace the new and changed ones."""
    from fuzz_core.cli import working

    work: Work = lambda settings, console: working.trace_command(settings, console, since, as_json)  # noqa: E731
    perform(
        sandboxed(context, work),
        config,
        sandbox=sandbox,
        state=state,
        target=target,
        flavour=flavour,
        library=library,
        workers=workers,
        api=api,
        source=source,
        docs=docs,
        tests=tests,
        models=models,
        seed_time=seed_time,
    )


@app.command()
def apis(
    config: options.Config = None,
    state: options.State = None,
    target: options.TargetOption = None,
    api: options.ApiPattern = None,
    gaps: Annotated[bool, typer.Option("--gaps", help="Only apis with nothing to fuzz, and why")] = False,
    coverage: Annotated[bool, typer.Option("--coverage", help="Operators that fuzzing has reached, by dtype")] = False,
    changes: Annotated[bool, typer.Option("--changes", help="What is not as in an earlier build")] = False,
    since: Annotated[str | None, typer.Option("--since", help="Key of that build [default: the one before]")] = None,
    as_json: options.Json = False,
) -> None:
    """List covered apis, their invocations, and the gaps with their reasons."""
    from fuzz_core.cli import listings

    def work(settings: Settings, console: Console) -> int:
        if changes or since is not None:
            return listings.changes(settings, console, since, as_json)
        if coverage:
            return listings.operators(settings, console, as_json)
        return listings.apis(settings, console, gaps, as_json)

    perform(work, config, state=state, target=target, api=api)


@app.command()
def oracles(config: options.Config = None, as_json: options.Json = False) -> None:
    """List the oracles with their share and their switch."""
    from fuzz_core.cli import oracles as judging

    work: Work = lambda settings, console: judging.oracles(settings, console, as_json)  # noqa: E731
    perform(work, config)


@app.command()
def fuzz(
    context: typer.Context,
    config: options.Config = None,
    state: options.State = None,
    target: options.TargetOption = None,
    flavour: options.Flavour = None,
    library: options.Library = None,
    workers: options.Workers = None,
    time: options.Time = None,
    tests_count: options.Tests = None,
    seed: options.SeedNumber = None,
    api: options.ApiPattern = None,
    engine: options.Engine = None,
    libraries: options.Libraries = None,
    domain: options.Domains = None,
    guidance: options.GuidanceName = None,
    reward: options.Reward = None,
    models: options.Models = None,
    no_type: options.NoType = False,
    no_random: options.NoRandom = False,
    no_database: options.NoDatabase = False,
    disable: options.Disable = None,
    schedule: options.ScheduleName = None,
    grow: options.Grow = None,
    fail_on_bugs: options.FailOnBugs = None,
    sandbox: options.Sandbox = None,
    as_json: options.Json = False,
) -> None:
    """Fuzz traced apis or, by --engine, models in a time-box, then confirm and minimise what was found."""
    from fuzz_core.cli import working

    work: Work = lambda settings, console: working.fuzz_command(settings, console, as_json)  # noqa: E731
    perform(
        sandboxed(context, work),
        config,
        sandbox=sandbox,
        state=state,
        target=target,
        flavour=flavour,
        library=library,
        workers=workers,
        time=time,
        tests_count=tests_count,
        seed=seed,
        api=api,
        engine=engine,
        libraries=libraries,
        domain=domain,
        guidance=guidance,
        reward=reward,
        models=models,
        disable=options.disabled(no_type, no_random, no_database, disable),
        schedule=schedule,
        grow=grow,
        fail_on_bugs=fail_on_bugs,
    )


@app.command()
def run(
    context: typer.Context,
    config: options.Config = None,
    state: options.State = None,
    target: options.TargetOption = None,
    baseline: options.Baseline = None,
    flavour: options.Flavour = None,
    library: options.Library = None,
    index: options.Index = None,
    allow_cached: options.AllowCached = None,
    workers: options.Workers = None,
    time: options.Time = None,
    seed: options.SeedNumber = None,
    source: options.Source = None,
    tests: options.TestsDir = None,
    models: options.Models = None,
    models_share: options.ModelsShare = None,
    libraries: options.Libraries = None,
    docs: options.Docs = None,
    api: options.ApiPattern = None,
    shard: options.ShardOption = None,
    changed: options.Changed = None,
    tests_count: options.Tests = None,
    disable: options.Disable = None,
    schedule: options.ScheduleName = None,
    grow: options.Grow = None,
    fail_on_bugs: options.FailOnBugs = None,
    sandbox: options.Sandbox = None,
    as_json: options.Json = False,
) -> None:
    """Do all of it in one time-box: target, tracing, fuzzing, triage, report."""
    from fuzz_core.cli import working

    work: Work = lambda settings, console: working.run_command(settings, console, as_json)  # noqa: E731
    perform(
        sandboxed(context, work),
        config,
        sandbox=sandbox,
        state=state,
        target=target,
        baseline=baseline,
        flavour=flavour,
        library=library,
        index=index,
        allow_cached=allow_cached,
        workers=workers,
        time=time,
        seed=seed,
        source=source,
        tests=tests,
        models=models,
        models_share=models_share,
        libraries=libraries,
        docs=docs,
        api=api,
        shard=shard,
        changed=changed,
        tests_count=tests_count,
        disable=disable,
        schedule=schedule,
        grow=grow,
        fail_on_bugs=fail_on_bugs,
    )


def main() -> None:
    """Entry point of the console script."""
    app()
