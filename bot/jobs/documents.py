"""The results document and the texts that are rendered from it."""

from __future__ import annotations

from pathlib import Path

from nightfuzz.bot.jobs.workspace import JUNIT, REPORT, RESULTS, SARIF
from nightfuzz.reports.junit import junit
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.sarif import sarif
from nightfuzz.reports.summary import summary

WORKFLOW = ".github/workflows/nightfuzz.yml"


def write_documents(folder: Path, result: RunResult) -> None:
    """The document, and what is rendered from it."""
    for name, text in (
        (RESULTS, result.to_json()),
        (REPORT, summary(result)),
        (SARIF, sarif(result, WORKFLOW)),
        (JUNIT, junit(result)),
    ):
        (folder / name).write_text(text, encoding="utf-8")
