"""What every command of the command line is made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from rich.console import Console

from fuzz_core.cli.boundary import guarded
from fuzz_core.cli.config import Settings, load
from fuzz_core.cli.display import output

# Flags that take several words with commas between them.
LISTED = ("source", "libraries", "domain", "reward")
Work = Callable[[Settings, Console], int]


def perform(work: Work, config: Any, **flags: Any) -> None:
    """Runs a command's work behind the error boundary and exits with its code."""
    for name in LISTED:
        if isinstance(given := flags.get(name), str):
            flags[name] = [each.strip() for each in given.split(",") if each.strip()]
    raise typer.Exit(guarded(lambda: work(load(config, flags), output())))
