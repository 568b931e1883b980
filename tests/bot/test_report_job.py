"""The report job: it holds the token, and reads results of untrusted code."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pytest
from actioninputs import variables
from clocks import FakeTime
from githubserver import Repository
from hubs import hub_of
from leavings import leave

from fuzz_core.ir.errors import UserError
from fuzz_core.store.statefile import open_store
from nightfuzz.bot.action.inputs import read_inputs
from nightfuzz.bot.git import remote_of
from nightfuzz.bot.github.hub import Hub
from nightfuzz.bot.issues.health import TITLE
from nightfuzz.bot.jobs.context import WorkflowEvent, event_of
from nightfuzz.bot.jobs.report import ReportOutcome, read_run, report_job
from nightfuzz.bot.jobs.workspace import RESULTS
from nightfuzz.bot.state.place import STATE, StateStorage, compressed, parts, unpack
from nightfuzz.bot.state.ref import Chance, StateRef

HOSTILE = (
    "`` ``` \n```\n@everyone <b onclick=x>${{ github.token }}\n::set-output name=x::y {{ 7*7 }} \x1b[31m"
    "'; DROP TABLE bugs;--"
)


class ReportStage:
    """A repository, and the folder with the unpacked artifacts of a run."""

    def __init__(self, home: Path, repo: Repository) -> None:
        self.home, self.repo, self.time = home, repo, FakeTime()
        self.results = home / "results"
        subprocess.run(["git", "init", "--quiet", "--bare", str(home / "r.git")], check=True)
        self.hub: Hub = hub_of(repo, self.time)
        remote = remote_of((home / "r.git").as_uri())
        self.place: StateStorage = StateRef(remote, Chance(self.time.clock, self.time.sleep, lambda: 0.0))

    def report(self, event: WorkflowEvent | None = None, **inputs: object) -> ReportOutcome:
        given = {name.lower(): value for name, value in inputs.items()}
        read = read_inputs(variables(mode="report", results=self.results, github_token=self.repo.token, **given))
        event = event or WorkflowEvent(self.repo.name, run="1")
        with tempfile.TemporaryDirectory() as name:
            run = read_run(read, event, Path(name))
            return report_job(read, event, lambda: self.hub, self.place, self.time.clock, run, Path(name))

    @property
    def titles(self) -> list[str]:
        """Titles of the issues about bugs."""
        every = sorted(each["title"] for each in self.repo.all("/issues?state=all"))
        return [title for title in every if title != TITLE]

    @property
    def bugs(self) -> list[str]:
        """Apis of the bugs in the kept state."""
        snapshot = self.place.load()
        assert snapshot is not None
        path = self.home / "kept.db"
        unpack(parts(snapshot.files), path)
        with open_store(path, read_only=True) as store:
            return sorted(bug.api for bug in store.bugs())


@pytest.fixture
def stage(tmp_path: Path, github_repo: Repository) -> ReportStage:
    return ReportStage(tmp_path, github_repo)


@pytest.mark.smoke
def test_shards_become_one_state_and_one_issue_for_each_cause(stage: ReportStage) -> None:
    leave(stage.results / "a", ["torch.alpha", "torch.beta"])
    leave(stage.results / "b", ["torch.beta", "torch.gamma"])
    done = stage.report()
    assert [bug.api for bug in done.result.bugs].count("torch.beta") == 1
    assert stage.bugs == ["torch.alpha", "torch.beta", "torch.gamma"]
    assert len(stage.titles) == 3
    assert stage.report().failed is False and len(stage.titles) == 3


@pytest.mark.parametrize("left", ["nothing", "half"])
def test_a_run_without_a_whole_shard_fails_after_all_else_is_done(stage: ReportStage, left: str) -> None:
    leave(stage.results / "a", ["torch.alpha"])
    if left == "half":
        document = leave(stage.results / "x-results-1-nightly", ["torch.beta"]) / RESULTS
        document.write_bytes(document.read_bytes()[:1000])
    done = stage.report(SHARDS=2)
    assert done.failed and "shard 1" in done.result.problems[0]
    # Each bug of the state is filed, even if the shard's document is damaged.
    assert stage.bugs == (["torch.alpha", "torch.beta"] if left == "half" else ["torch.alpha"])
    assert len(stage.titles) == len(stage.bugs)


def test_what_a_worker_wrote_stays_text(stage: ReportStage) -> None:
    leave(stage.results / "a", ["torch.alpha"], text=HOSTILE)
    stage.report()
    (issue,) = stage.repo.all("/issues")
    outside = "".join(issue["body"].split("```")[::2])
    assert "@everyone" not in outside and "<b onclick" not in outside and "\x1b" not in issue["body"]
    assert "49" not in issue["title"] and stage.bugs == ["torch.alpha"]


@pytest.mark.parametrize("count", ["0", "2"])
def test_no_more_issues_a_day_than_asked_for(stage: ReportStage, count: str) -> None:
    leave(stage.results / "a", [f"torch.{name}" for name in ("alpha", "beta", "gamma")])
    done = stage.report(MAX_NEW_ISSUES=count)
    assert len(stage.titles) == int(count)
    assert any("wait for another day" in note for note in done.notes)


class DescribeAnAttack:
    def damage(self, stage: ReportStage, kind: str) -> None:
        """Adds a second shard that is damaged in the given way."""
        bad = leave(stage.results / "b", ["torch.evil"])
        raw = stage.home / "evil.db"
        unpack([(bad / STATE).read_bytes()], raw)
        with sqlite3.connect(raw) as db:
            if kind == "trigger":
                db.execute("CREATE TRIGGER t AFTER INSERT ON bugs BEGIN DELETE FROM bugs; END")
            elif kind == "view":
                db.execute("CREATE VIEW v AS SELECT * FROM bugs")
            elif kind == "foreign":
                db.execute("PRAGMA application_id = 7")
        db.close()
        (bad / STATE).write_bytes(os.urandom(4096) if kind == "noise" else compressed(raw.read_bytes()))
        if kind == "link":
            (bad / STATE).unlink()
            (bad / STATE).symlink_to("/etc/passwd")

    @pytest.mark.parametrize("kind", ["trigger", "view", "foreign", "noise", "link"])
    def test_a_state_that_is_none_of_ours_is_left_out_and_told(self, stage: ReportStage, kind: str) -> None:
        leave(stage.results / "a", ["torch.alpha"])
        self.damage(stage, kind)
        done = stage.report()
        assert stage.bugs == ["torch.alpha"] and len(stage.titles) == 1
        assert done.result.problems[0].startswith("the shard in b is damaged: ") and done.failed

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[" * 200_000,
            '{"schema": "nightfuzz-results/1"}',
            '{"schema": "nightfuzz-results/2", "mode": "nightly"}',
            "\x00" * 100,
        ],
    )
    def test_results_that_do_not_fit_the_schema_end_it_with_one_error(self, stage: ReportStage, text: str) -> None:
        (leave(stage.results / "a", ["torch.alpha"]) / RESULTS).write_text(text)
        with pytest.raises(UserError, match=r"results\.json"):
            stage.report()
        assert stage.titles == []

    @pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "a\\..\\b", "a\nb"])
    def test_a_path_that_leads_out_of_the_repository_is_refused(self, stage: ReportStage, path: str) -> None:
        file = leave(stage.results / "a", ["torch.alpha"]) / RESULTS
        told = json.loads(file.read_text())
        told["bugs"][0]["sites"] = [{"path": path, "line": 1, "test": ""}]
        file.write_text(json.dumps(told))
        with pytest.raises(UserError, match="sites"):
            stage.report()

    def test_the_code_of_a_pull_request_files_no_issues(self, stage: ReportStage) -> None:
        leave(stage.results / "a", ["torch.alpha"])
        for event in (WorkflowEvent(stage.repo.name, pull=3), WorkflowEvent(stage.repo.name, name="workflow_run")):
            with pytest.raises(UserError, match="a run for a pull request has results"):
                stage.report(event)
        assert stage.titles == []


def test_a_run_without_results_says_so(stage: ReportStage) -> None:
    stage.results.mkdir()
    with pytest.raises(UserError, match="no results to report"):
        stage.report()


def test_the_event_says_which_pull_request_unless_an_input_does(tmp_path: Path) -> None:
    payload = tmp_path / "event.json"
    payload.write_text(json.dumps({"pull_request": {"number": 7, "head": {"sha": "a" * 40}}}))
    runner = {"GITHUB_REPOSITORY": "o/r", "GITHUB_EVENT_PATH": str(payload), "GITHUB_RUN_ID": "9"}
    given = {"INPUT_MODE": "report", "INPUT_GITHUB_TOKEN": "t"}
    assert event_of(read_inputs(given), runner)[1:3] == (7, "a" * 40)
    assert event_of(read_inputs({**given, "INPUT_SETTINGS": "pull-request = 8"}), runner).pull == 8
    payload.write_text(json.dumps({"workflow_run": {"head_sha": "b" * 40}}))
    assert event_of(read_inputs(given), {**runner, "GITHUB_SHA": "c" * 40}).sha == "b" * 40
    assert event_of(read_inputs(given), runner).links.report == "https://github.com/o/r/actions/runs/9"
    with pytest.raises(UserError, match="GITHUB_REPOSITORY"):
        event_of(read_inputs(given), {})
