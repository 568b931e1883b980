"""The workflow files that come from the templates of `nightfuzz init`: our reusable workflows and the examples.

This command writes them anew: `PYTHONPATH=. .venv/bin/python tests/common/workflowfiles.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from nightfuzz.bot.init.action import DEFAULT, WORKFLOWS, action_of
from nightfuzz.bot.init.answers import checked
from nightfuzz.bot.init.workflows import THREE_JOBS, rendered, reusable_jobs

ROOT = Path(__file__).parents[2]
KINDS: dict[str, Literal["night", "pull"]] = {"nightfuzz": "night", "nightfuzz-pr": "pull"}


def generated() -> Iterator[tuple[Path, str]]:
    """Yields every file that comes from a template, with its text."""
    for name, kind in KINDS.items():
        file = ROOT / f".github/workflows/{name}.yml"
        head = file.read_text().partition("\njobs:\n")[0]
        yield file, f"{head}\n{reusable_jobs(kind)}"
    for folder, workflows, labels in (
        ("docs/examples", WORKFLOWS, ("self-hosted", "gpu")),
        ("docs/examples/hosted", THREE_JOBS, ("ubuntu-latest",)),
    ):
        answers = checked(workflows=workflows, runs_on=labels, tests=("tests",))
        for name, text in rendered(answers, action_of(DEFAULT)).items():
            yield ROOT / folder / name, text


if __name__ == "__main__":
    for file, text in list(generated()):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
