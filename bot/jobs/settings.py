"""The settings file of a fuzz job's commands."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import tomlkit

from fuzz_core.cli.settings import DEFAULT_FILE
from fuzz_core.ir.errors import UserError
from fuzz_core.triage.known import DEFAULT_FILE as KNOWN_FILE
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.jobs.workspace import KNOWN, Workspace


def settings_file(inputs: Inputs, work: Workspace) -> tuple[str, ...]:
    """Make the settings file of the commands and return the flag that names it; nothing where nothing is set.

    The input `settings` wins over the user's file. What people taught by labels is added to the known findings.
    """
    config, options = inputs.settings.config, inputs.settings.options
    own = work.sources / (config or DEFAULT_FILE)
    if config is not None and not own.is_file():
        raise UserError(
            f"input settings: config: there is no file {config}", "write its path from the repository's root"
        )
    taught = inputs.plan_folder / KNOWN if inputs.plan_folder else None
    if not options and (taught is None or not taught.is_file()):
        return ("--config", str(own)) if own.is_file() else ()
    settings = {**(_read_settings(own) if own.is_file() else {}), **options}
    known = work.sources / settings.get("known", own.with_name(KNOWN_FILE))
    files = [file for file in (known, taught) if file is not None and file.is_file()]
    work.root.mkdir(parents=True, exist_ok=True)
    (work.root / KNOWN).write_text("".join(file.read_text(encoding="utf-8") + "\n" for file in files), encoding="utf-8")
    made = work.root / DEFAULT_FILE
    made.write_text(tomlkit.dumps({**settings, "known": str(work.root / KNOWN)}), encoding="utf-8")
    return "--config", str(made)


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file.name} is not valid TOML: {error}", "see docs/configuration.md for an example"
        ) from error
