"""Inputs of the Action as a runner gives them to a step: variables, and the rare ones as TOML in one of them."""

from __future__ import annotations

from pathlib import Path

import tomlkit

from nightfuzz.bot.action.inputs import Inputs, read_inputs


def variables(**given: object) -> dict[str, str]:
    """Returns the variables `INPUT_…` for inputs by their field names; other names become keys of `settings`."""
    keys = {name.replace("_", "-"): value for name, value in given.items() if name not in Inputs.model_fields}
    own = {name: str(value) for name, value in given.items() if name in Inputs.model_fields}
    if keys:
        own["settings"] = tomlkit.dumps({key: str(v) if isinstance(v, Path) else v for key, v in keys.items()})
    return {f"INPUT_{name.upper()}": value for name, value in own.items()}


def inputs(**given: object) -> Inputs:
    """Returns the inputs as the Action reads them from these variables."""
    return read_inputs(variables(**given))
