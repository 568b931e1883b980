"""The checks that our workflows and actions pass: GitHub's schemas, zizmor's pedantic persona, actionlint."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]


def loaded(file: Path) -> Any:
    """Returns a YAML file as plain data."""
    return YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))


def schema_errors(kind: str, files: Sequence[Path]) -> str:
    """Returns errors against the schema `vendor.KIND`, or an empty text."""
    command = [tool("check-jsonschema"), "--builtin-schema", f"vendor.{kind}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def zizmor_findings(files: Sequence[Path]) -> str:
    """Returns zizmor's findings, or an empty text."""
    command = [
        tool("zizmor"),
        "--offline",
        "--no-config",
        "--persona",
        "pedantic",
        "--color",
        "never",
        *map(str, files),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def actionlint_findings(files: Sequence[Path], labels: Sequence[str] = ()) -> list[str]:
    """Returns actionlint's findings without those that `.github/actionlint.yaml` names.

    The program comes from the wheel of a fork. The original, 1.7.12, is in no package with the program, and npm's
    package embeds 1.6.22, which is four years old.

    Args:
        labels: further labels of a user's own runners.
    """
    command = [tool("actionlint"), "-config-file", str(ROOT / ".github/actionlint.yaml"), "-shellcheck=", "-pyflakes="]
    done = subprocess.run(
        [*command, "-format", "{{json .}}", *map(str, files)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (0, 1), done.stderr
    unknown = tuple(f'label "{label}" is unknown' for label in labels)
    found = [each for each in json.loads(done.stdout or "[]") if not each["message"].startswith(unknown)]
    return [f"{each['filepath']}:{each['line']}: {each['message']}" for each in found]


def tool(name: str) -> str:
    """Returns a program of the tests' environment; skips the test if the program is missing."""
    file = Path(sys.executable).parent / name
    if not file.exists():
        pytest.skip(f"{name} is missing: pip install -e '.[dev]'")
    return str(file)
