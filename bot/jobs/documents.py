"""The results document and the texts that are rendered from it."""

from __future__ import annotations

from pathlib import Path

from nightfuzz.bot.jobs.workspace import JUNIT, REPORT, RESULTS, SARIF
from nightfuzz.reports.junit import junit
from nightfuzz.reports.picture import NAME, picture
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.sarif import sarif
from nightfuzz.reports.summary import summary


def write_documents(folder: Path, result: RunResult, workflow: str) -> None:
    """Write the document and its rendered forms.

    Args:
        workflow: the file of the workflow, empty outside of a workflow.
    """
    for name, text in (
        (RESULTS, result.to_json()),
        (REPORT, summary(result)),
        (SARIF, sarif(result, workflow)),
        (JUNIT, junit(result)),
        (NAME, picture(result)),
    ):
        if text:
            (folder / name).write_text(text, encoding="utf-8")
