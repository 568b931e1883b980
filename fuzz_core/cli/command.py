"""What every command of the command line is made with. It loads nothing that only the work of a command needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from fuzz_core.cli.config import Settings

# Flags that take several words with commas between them.
LISTED = ("source", "libraries", "domain", "reward")
Work: TypeAlias = "Callable[[Settings, Console], int]"


def perform(work: Work, config: Any, **flags: Any) -> None:
    """Runs a command's work behind the error boundary and exits with its code."""
    from fuzz_core.cli.boundary import guarded
    from fuzz_core.cli.config import load
    from fuzz_core.cli.display import output

    for name in LISTED:
        if isinstance(given := flags.get(name), str):
            flags[name] = [each.strip() for each in given.split(",") if each.strip()]
    raise typer.Exit(guarded(lambda: work(load(config, flags), output())))


def sandboxed(context: typer.Context, work: Work) -> Work:
    """The work of the command, in a container where the settings ask for one; it says which protection is on."""

    def done(settings: Settings, console: Console) -> int:
        from fuzz_core.cli.sandboxing import protected

        return protected(context, work, settings, console)

    return done
