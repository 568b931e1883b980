"""The console script: its version and its help."""

from __future__ import annotations

import tomllib
from pathlib import Path

from typer.testing import CliRunner

from nightfuzz.bot.main import app

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_version_is_the_installed_project_s() -> None:
    said = CliRunner().invoke(app, ["--version"])
    assert said.exit_code == 0
    assert said.output.strip() == f"nightfuzz {tomllib.loads(PROJECT.read_text())['project']['version']}"


def test_without_a_command_its_help_is_printed_and_names_every_command() -> None:
    said = CliRunner().invoke(app, [])
    assert said.exit_code == 2
    assert all(name in said.output for name in ("fuzz", "pull", "init", "advise", "--version"))
