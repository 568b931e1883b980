"""`nightfuzz`: the commands that are about several builds of a library."""

from __future__ import annotations

from typing import Annotated

import typer

from fuzz_core.cli import options
from fuzz_core.cli.command import Work, perform, sandboxed

BUMP_SECONDS = "10m"

app = typer.Typer()


@app.command()
def changes(
    config: options.Config = None,
    state: options.State = None,
    target: options.TargetOption = None,
    baseline: options.Baseline = None,
    as_json: options.Json = False,
) -> None:
    """List what a build does otherwise than its baseline, worst first."""
    from fuzz_core.cli import comparing

    work: Work = lambda settings, console: comparing.changes(settings, console, as_json)  # noqa: E731
    perform(work, config, state=state, target=target, baseline=baseline)


@app.command()
def bump(
    context: typer.Context,
    old: Annotated[str, typer.Option("--from", help="Build in use now, as for `pull`")],
    new: Annotated[str, typer.Option("--to", help="Build to change to, as for `pull`")],
    config: options.Config = None,
    state: options.State = None,
    flavour: options.Flavour = None,
    library: options.Library = None,
    tests: options.TestsDir = None,
    workers: options.Workers = None,
    time: options.Time = BUMP_SECONDS,
    tests_count: options.Tests = None,
    seed: options.SeedNumber = None,
    fail_on_bugs: options.FailOnBugs = None,
    sandbox: options.Sandbox = None,
    as_json: options.Json = False,
) -> None:
    """Say what another build of a dependency does otherwise around the calls that your own tests make."""
    from fuzz_core.cli import bumping

    work: Work = lambda settings, console: bumping.bump(settings, console, old, new, as_json)  # noqa: E731
    flags = {
        "flavour": flavour,
        "library": library,
        "tests": tests,
        "tests_count": tests_count,
        "workers": workers,
        "time": time,
        "seed": seed,
    }
    perform(sandboxed(context, work), config, state=state, fail_on_bugs=fail_on_bugs, sandbox=sandbox, **flags)


@app.command()
def recheck(
    context: typer.Context,
    bugs: Annotated[
        list[int] | None, typer.Argument(help="Numbers of bugs [default: all that are open or fixed]")
    ] = None,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, max=100, help="Fresh processes for each [default: confirm_runs, 5]")
    ] = None,
    config: options.Config = None,
    state: options.State = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Build to run them on [default: the newest of each library]")
    ] = None,
    flavour: options.Flavour = None,
    library: options.Library = None,
    workers: options.Workers = None,
    time: options.Time = None,
    fail_on_bugs: Annotated[
        bool | None, typer.Option("--fail-on-bugs", help="Exit with 1 when a fixed bug is back")
    ] = None,
    sandbox: options.Sandbox = None,
    as_json: options.Json = False,
) -> None:
    """Run bugs again on another build: still there, changed, fixed, or back."""
    from fuzz_core.cli.recheck import recheck_command

    work: Work = lambda settings, console: recheck_command(settings, console, bugs or [], runs, as_json)  # noqa: E731
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
        fail_on_bugs=fail_on_bugs,
    )


@app.command()
def history(
    config: options.Config = None,
    state: options.State = None,
    target: Annotated[str | None, typer.Option("--target", help="Key of a target [default: all]")] = None,
    as_json: options.Json = False,
) -> None:
    """List the builds seen, and what was found, fixed and broken again on each."""
    from fuzz_core.cli.history import history_command

    work: Work = lambda settings, console: history_command(settings, console, as_json)  # noqa: E731
    perform(work, config, state=state, target=target)


@app.command()
def bisect(
    bug: int,
    good: Annotated[
        str | None, typer.Option("--good", help="Build without the bug, by spec or version [default: searched for]")
    ] = None,
    bad: Annotated[
        str | None, typer.Option("--bad", help="Build with the bug [default: the one where it was found]")
    ] = None,
    first_fixed: Annotated[bool, typer.Option("--first-fixed", help="Search forward for where it went")] = False,
    runs: Annotated[
        int | None, typer.Option("--runs", min=1, max=100, help="Runs on each build [default: by the bug's own rate]")
    ] = None,
    keep: Annotated[int, typer.Option("--keep", min=1, help="Environments on disk at a time")] = 2,
    index: options.Index = None,
    allow_cached: options.AllowCached = None,
    config: options.Config = None,
    state: options.State = None,
    flavour: options.Flavour = None,
    workers: options.Workers = None,
    as_json: options.Json = False,
) -> None:
    """Find the build with which a bug came, or went, among those of an index."""
    from fuzz_core.campaign.bisection import BisectOptions
    from fuzz_core.cli import bisecting

    wanted = BisectOptions(good=good, bad=bad, fixed=first_fixed, runs=runs, keep=keep)
    work: Work = lambda settings, console: bisecting.bisect_command(settings, console, bug, wanted, as_json)  # noqa: E731
    perform(work, config, state=state, index=index, allow_cached=allow_cached, flavour=flavour, workers=workers)
