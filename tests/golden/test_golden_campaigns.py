"""Golden tests of campaigns with a fixed seed on libraries with known bugs: findings, bugs and reports stay."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from agreement import disagreements
from golden_file import check_golden
from record import digest, recorded, steady, streams

from fuzz_core.campaign.document import RunFacts, result_of
from fuzz_core.campaign.session import Session
from nightfuzz.reports.annotations import commands
from nightfuzz.reports.comment import comment
from nightfuzz.reports.junit import junit
from nightfuzz.reports.results import RunResult
from nightfuzz.reports.sarif import sarif
from nightfuzz.reports.summary import summary

CAMPAIGNS = ("fakelib_campaign", "qualitylib_campaign")


@pytest.fixture(params=CAMPAIGNS)
def campaign(request: pytest.FixtureRequest) -> Session:
    session: Session = request.getfixturevalue(request.param)
    return session


def test_the_same_calls_findings_and_bugs(campaign: Session) -> None:
    check_golden(f"{campaign.target.library}.json", recorded(campaign))


def test_the_same_random_streams(campaign: Session, tmp_path: Path) -> None:
    check_golden(f"{campaign.target.library}_streams.json", streams(campaign, tmp_path / "plan.jsonl"))


def test_the_same_reports(campaign: Session) -> None:
    """Covers each form of a run's report, made from the document that crosses between jobs."""
    key = campaign.target.key
    made = result_of(campaign.store, RunFacts("nightly", key)).to_json()
    result = RunResult.model_validate_json(_undated(made))
    forms = {
        "results": steady(result.to_json()).splitlines(),
        "summary": summary(result).splitlines(),
        "comment": comment(result, "<!-- marker -->").splitlines(),
        "junit": junit(result).splitlines(),
        "sarif": digest(sarif(result)),
        "annotations": commands(result),
    }
    check_golden(f"{campaign.target.library}_reports.json", {name: _shortened(form) for name, form in forms.items()})


def test_every_command_says_the_same_of_a_bug(campaign: Session) -> None:
    assert disagreements(campaign) == []


def _undated(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(?:\+00:00|Z)", "2026-01-02T00:00:00.000+00:00", text)


def _shortened(form: list[str] | str) -> Any:
    """Returns the beginning of a long document, and a digest of the lines that follow."""
    if isinstance(form, str) or len(form) <= 120:
        return form
    return [*form[:120], digest("\n".join(form[120:]))]
