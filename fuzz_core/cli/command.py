"""What every command of the command line is made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from rich.console import Console

from fuzz_core.cli.boundary import guarded
from fuzz_core.cli.config import Settings, load

Work = Callable[[Settings, Console], int]


def perform(work: Work, config: Any, **flags: Any) -> None:
    """Runs a command's work behind the error boundary and exits with its code."""
    if isinstance(flags.get("source"), str):
        flags["source"] = [name.strip() for name in flags["source"].split(",") if name.strip()]
    raise typer.Exit(guarded(lambda: work(load(config, flags), Console())))
