"""`nightfuzz init`: its flags, and their effects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nightfuzz.bot.init.action import DEFAULT, SERVER, WORKFLOWS, action_of, pin_action


def init_command(
    into: Annotated[Path, typer.Option("--into", help="Folder of your git repository")] = Path(),
    workflow: Annotated[
        list[str] | None,
        typer.Option("--workflow", help=f"Workflow to add: {', '.join(WORKFLOWS)} \\[default: nightly]"),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="Build to fuzz, e.g. torch-nightly; `pull --help` has all forms")
    ] = None,
    baseline: Annotated[str | None, typer.Option("--baseline", help="Older build to compare the target with")] = None,
    runs_on: Annotated[
        list[str] | None,
        typer.Option("--runs-on", help="Label that the runner of the fuzz job must have \\[default: ubuntu-latest]"),
    ] = None,
    tests: Annotated[list[str] | None, typer.Option("--tests", help="Directory of your own tests")] = None,
    models: Annotated[list[str] | None, typer.Option("--models", help="Directory of your own model programs")] = None,
    docs: Annotated[list[str] | None, typer.Option("--docs", help="Directory of your own documentation")] = None,
    time: Annotated[str | None, typer.Option("--time", help="Time limit of a nightly run \\[default: 45m]")] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="Start time of the nightly run, in UTC \\[default: 03:17]")
    ] = None,
    shards: Annotated[
        int | None, typer.Option("--shards", help="Number of fuzz jobs that share the apis \\[default: 1]")
    ] = None,
    sandbox: Annotated[
        str | None, typer.Option("--sandbox", help="Container of the fuzz job: auto, docker or none \\[default: auto]")
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option(
            "--upstream",
            help="Issues to the library's developers: off, draft (write them only in your repository), "
            "approved (send those that you approve) \\[default: off]",
        ),
    ] = None,
    fork_environment: Annotated[
        str | None,
        typer.Option(
            "--fork-environment",
            help="GitHub environment whose reviewers approve runs for pull requests from forks "
            "\\[default: no runs for forks]",
        ),
    ] = None,
    private_recipient: Annotated[
        str | None,
        typer.Option(
            "--private-recipient",
            help="Public key made with `age` (an encryption tool); "
            "private bugs (security problems) are encrypted with this key",
        ),
    ] = None,
    private_key: Annotated[
        bool | None,
        typer.Option(
            "--private-key/--no-private-key",
            help="Make a pair of keys that encrypts private bugs \\[default: make one]",
        ),
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="File for the secret key, outside of the repository")
    ] = None,
    action: Annotated[str, typer.Option("--action", help="GitHub Action to use: OWNER/REPO@REF")] = DEFAULT,
    server: Annotated[str, typer.Option("--server", help="GitHub server that has the Action")] = SERVER,
    pin: Annotated[
        bool, typer.Option("--pin/--no-pin", help="In the workflows, use the commit of REF instead of REF")
    ] = True,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask no questions: use the defaults")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing workflow files")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text, and ask no questions")] = False,
) -> None:
    """Add GitHub workflows for nightfuzz to a repository, and explain the permissions that they need."""
    from fuzz_core.cli.errors import guarded
    from fuzz_core.cli.output import CommandOutput
    from nightfuzz.bot.init import work as steps
    from nightfuzz.bot.init.project import repository_of

    given: dict[str, Any] = {
        "workflows": workflow or None, "target": target, "baseline": baseline, "runs_on": runs_on or None,
        "tests": tests or None, "models": models or None, "docs": docs or None, "time": time, "at": at,
        "shards": shards, "sandbox": sandbox, "upstream": upstream, "fork_environment": fork_environment,
        "private_recipient": private_recipient,
    }  # fmt: skip

    def work() -> int:
        root = repository_of(into)
        asked = bool(private_key or key_file)
        makes = asked or (private_key is None and private_recipient is None)
        key = steps.KeyChoice(key_file or steps.default_file(root.name), asked) if makes else None
        found = action_of(action, server)
        choices = steps.Choices(root, pin_action(found) if pin else found, key, force)
        ask = steps.silent if yes or as_json else steps.prompt
        return CommandOutput(as_json).print(steps.init(choices, given, ask))

    raise typer.Exit(guarded(work))
