"""Steps that fail or have no work: their messages and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from actioninputs import variables

from nightfuzz.bot.jobs import steps


@pytest.fixture
def summary(tmp_path: Path) -> Path:
    return tmp_path / "summary"


def step(name: str, summary: Path, event: str = "schedule", **inputs: object) -> tuple[int, str]:
    """Returns the exit code of a step and the summary of its job."""
    environment = {
        **variables(**inputs),
        "GITHUB_REPOSITORY": "o/r",
        "GITHUB_EVENT_NAME": event,
        "GITHUB_STEP_SUMMARY": str(summary),
        "RUNNER_TEMP": str(summary.parent),
        "GITHUB_WORKSPACE": str(summary.parent),
    }
    code = steps.run_step(getattr(steps, f"{name}_step"), environment)
    return code, summary.read_text() if summary.exists() else ""


def test_a_fork_whose_run_left_no_results_is_no_failure(summary: Path, tmp_path: Path) -> None:
    """The fork's run may have waited for an approval that never came; if it failed, its own page says so."""
    given = {"mode": "report", "results": tmp_path / "none", "github_token": "t"}
    code, said = step("report", summary, "workflow_run", **given)
    assert code == 0 and "no results to report" in said
    code, said = step("report", summary, **given)
    assert code == 2 and "nightfuzz failed" in said and "no results to report" in said


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("fuzz", {"mode": "nighty"}, "input mode"),
        ("plan", {"target": "torch==2.13.0", "state": "directory", "plan_only": "true"}, "state-path"),
        ("export", {"target": "torch==2.13.0"}, "before it began to fuzz"),
    ],
)
def test_an_error_stands_in_the_summary_and_as_an_annotation(
    summary: Path, capsys: pytest.CaptureFixture[str], name: str, inputs: dict[str, str], said: str
) -> None:
    code, told = step(name, summary, **inputs)
    printed = capsys.readouterr()
    assert code == 2 and said in told.replace("\\", "")
    assert any(line.startswith("::error title=nightfuzz::") and said in line for line in printed.out.splitlines())
