"""The command line in this process, and what a command printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from typer.testing import CliRunner

from fuzz_core.cli.app import app


@dataclass
class Done:
    """Exit code and printed output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Done]


def run(*arguments: object) -> Done:
    result = CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200"})
    return Done(result.exit_code, result.stdout, result.stderr)
