"""From answers to workflow files: templates, and the permissions that each of them needs, with the reason."""

from __future__ import annotations

import json
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from nightfuzz.bot.init.action import Action, Workflow
from nightfuzz.bot.init.answers import Answers


class Permission(NamedTuple):
    """A permission of the workflow's own token. level: read or write."""

    name: str
    level: str
    why: str


_SARIF = Permission("security-events", "write", "SARIF for code scanning")
_NIGHT = (
    Permission("contents", "write", "reads your sources, keeps the state under refs/nightfuzz/"),
    Permission("issues", "write", "one issue for each cause"),
    _SARIF,
)
_PULL = (
    Permission("contents", "read", "reads your sources and the state"),
    Permission("pull-requests", "write", "the comment"),
    Permission("checks", "write", "the check with its conclusion"),
    _SARIF,
)
PERMISSIONS: dict[Workflow, tuple[Permission, ...]] = {
    "nightly": _NIGHT,
    "manual": _NIGHT,
    "pull-request": _PULL,
    "bump": _PULL,
    "commands": (
        Permission("contents", "write", "keeps what was asked with the state"),
        Permission("issues", "write", "the answer, and the labels that a command means"),
    ),
    "report": (
        Permission("actions", "read", "reads the artifacts of the other run"),
        Permission("pull-requests", "write", "the comment"),
        Permission("checks", "write", "the check with its conclusion"),
    ),
}


def rendered(answers: Answers, action: Action) -> dict[str, str]:
    """The files by their names in `.github/workflows`."""
    templates = _environment()
    return {
        file_name(workflow): templates.get_template(f"{workflow}.yml.j2").render(
            a=answers, action=action, permissions=PERMISSIONS[workflow]
        )
        for workflow in dict.fromkeys(answers.workflows)
    }


def file_name(workflow: Workflow) -> str:
    """The file that a workflow is written to."""
    return "nightfuzz.yml" if workflow == "nightly" else f"nightfuzz-{workflow}.yml"


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("nightfuzz.bot", "templates/callers"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # YAML is no HTML: every value goes through one of the filters below.
        autoescape=False,
    )
    made.filters.update(quoted=_quoted, labels=lambda labels: json.dumps(list(labels)), listed=", ".join)
    return made


def _quoted(value: object) -> str:
    """A YAML text in single quotes, in which nothing but the quote itself means anything. The answers are one line."""
    text = str(value)
    if not text.isprintable():
        raise ValueError("a value of several lines")
    return "'{}'".format(text.replace("'", "''"))
