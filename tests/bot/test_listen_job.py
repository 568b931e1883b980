"""The job that a comment starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from githubserver import Repository, token_of
from leavings import leave
from test_report_job import ReportStage

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import read_inputs
from nightfuzz.bot.jobs.context import WorkflowEvent
from nightfuzz.bot.jobs.issues import listen_job, remembered


@pytest.fixture
def stage(tmp_path: Path, github_repo: Repository) -> ReportStage:
    """A stage on which a night has filed one issue."""
    made = ReportStage(tmp_path, github_repo)
    leave(made.results / "a", ["torch.alpha"])
    made.report()
    return made


def say(stage: ReportStage, who: str, text: str, issue: int = 1) -> WorkflowEvent:
    told: Any = stage.repo.send("POST", f"/issues/{issue}/comments", {"body": text}, token_of(who))
    return WorkflowEvent(stage.repo.name, name="issue_comment", issue=issue, comment=int(told["id"]))


def listen(stage: ReportStage, event: WorkflowEvent) -> tuple[str, ...]:
    inputs = read_inputs({"INPUT_MODE": "listen", "INPUT_GITHUB_TOKEN": stage.repo.token})
    return listen_job(inputs, event, stage.hub, stage.place, stage.time.clock)


def test_what_a_maintainer_asks_for_waits_for_the_next_fuzz_job_and_is_answered(stage: ReportStage) -> None:
    notes = listen(stage, say(stage, "maintainer", "/nightfuzz bisect"))
    assert "is handled" in notes[0]
    (request,) = remembered(stage.place).waiting
    assert (request.kind, request.by, request.issue) == ("bisect", "maintainer", 1)
    assert any(
        "bisect" in each["body"] and each["user"]["login"] != "maintainer"
        for each in stage.repo.all("/issues/1/comments")
    )


def test_ignore_is_done_at_once(stage: ReportStage) -> None:
    listen(stage, say(stage, "writer", "/nightfuzz ignore"))
    assert "nightfuzz:ignore" in {label["name"] for label in stage.repo.get("/issues/1")["labels"]}


def test_strangers_and_issues_of_others_move_nothing(stage: ReportStage) -> None:
    listen(stage, say(stage, "stranger", "/nightfuzz ignore"))
    assert remembered(stage.place).waiting == ()
    other = stage.repo.send("POST", "/issues", {"title": "theirs", "body": ""})["number"]
    notes = listen(stage, say(stage, "maintainer", "/nightfuzz ignore", other))
    assert "is not from the bot" in notes[0]
    assert stage.repo.get(f"/issues/{other}")["labels"] == []


def test_a_run_that_no_comment_started_is_an_error(stage: ReportStage) -> None:
    with pytest.raises(UserError, match="not started by a comment"):
        listen(stage, WorkflowEvent(stage.repo.name))
