"""The figures of a run: what single apis and model programs have come to, together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nightfuzz.bot.jobs.export import _figures
from nightfuzz.bot.jobs.workspace import Workspace

FUZZ = {"tests": 100, "kept": 3, "apis": 7}


@pytest.mark.parametrize(
    ("models", "tests", "findings"),
    [({"tests": 20, "kept": 2}, 120, 5), ({"left_out": "there is none for fakelib"}, 100, 3), (None, 100, 3)],
)
def test_programs_count_where_they_were_grown(
    tmp_path: Path, models: dict[str, Any] | None, tests: int, findings: int
) -> None:
    work = Workspace(tmp_path, tmp_path / "state", tmp_path / "sources")
    told = {"fuzz": FUZZ, "triage": {"left": 1}, **({} if models is None else {"models": models})}
    work.answer_file("run").write_text(json.dumps(told))
    figures = _figures(work, {}, 60.0)
    assert (figures.tests, figures.findings, figures.apis, figures.pending) == (tests, findings, 7, 1)
