"""The step `report` of a runner: the order of its work, the token of each part, and its files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faultproxy import Plan
from githubserver import APP, Repository
from nightstage import NightStage, night_stage
from workflow_checks import ROOT, loaded

from nightfuzz.bot.github.budget import REPORT_MINUTES, RateLimits

WORKFLOW = ".github/workflows/my-nights.yml"


@pytest.fixture
def stage(tmp_path: Path, github_repo: Repository) -> Iterator[NightStage]:
    with night_stage(tmp_path, github_repo) as made:
        yield made


def test_texts_and_outputs_are_there_before_anybody_is_asked(stage: NightStage) -> None:
    stage.shards("1", ["torch.alpha"], [])
    seen: list[str] = []
    told = stage.results("1") / "told"

    def look(path: str) -> str:
        seen.append(" ".join(sorted(each.name for each in told.iterdir())))
        return "403"

    stage.git.fault = look
    done = stage.report("1")
    assert seen[0] == "junit.xml nightfuzz.sarif report.md results.json"
    assert (done.code, done.outputs["bugs-total"]) == (2, "1")
    assert "torch.alpha" in done.summary and "is not kept" in done.summary
    assert stage.proxy.seen == []


def test_the_state_is_kept_before_the_api_is_asked(stage: NightStage) -> None:
    stage.shards("1", ["torch.alpha"], [])
    kept: list[list[str]] = []

    def look(verb: str, path: str) -> bool:
        kept.append(stage.bugs)
        return False

    stage.proxy.forwarded = look
    assert stage.report("1").code == 0
    assert kept[0] == ["torch.alpha"]


def test_an_unreachable_service_is_no_bug_of_ours_and_ends_in_time(stage: NightStage) -> None:
    stage.shards("1", ["torch.alpha"], [])
    stage.proxy.plan = Plan(1, {"5xx-before": 1_000_000}, density=1.0)
    done = stage.report("1")
    assert done.code == 2 and "bug in nightfuzz" not in done.log
    assert "Re-run failed jobs" in done.log
    assert sum(stage.time.slept) < REPORT_MINUTES * 60 / 2
    assert stage.filings.status is not None and stage.filings.status.left == ("what run 1 has found",)


def test_what_is_left_is_filed_by_the_next_run_and_said(stage: NightStage) -> None:
    stage.shards("1", ["torch.alpha"], [])
    stage.proxy.instead = lambda verb, path: (410, {}, {"message": "Issues are disabled"})
    stage.report("1")
    stage.heal()
    stage.shards("2", [], [])
    done = stage.report("2")
    assert done.code == 0 and stage.issues == {"torch.alpha": 1}
    assert "left by an earlier run: what run 1 has found" in done.summary


def test_results_without_a_line_stand_at_the_workflow_of_the_caller(stage: NightStage) -> None:
    stage.shards("1", ["torch.alpha"], [])
    stage.environment["GITHUB_WORKFLOW_REF"] = f"{stage.repo.name}/{WORKFLOW}@refs/heads/main"
    (run,) = json.loads(Path(stage.report("1").outputs["sarif-path"]).read_text())["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == WORKFLOW


def test_an_app_alone_keeps_the_state(stage: NightStage) -> None:
    """The git server accepts only the token that the app got for the contents of this repository."""
    stage.shards("1", ["torch.alpha"], [])
    asked: list[str] = []

    def learn(path: str, body: bytes) -> bytes:
        if path.endswith("/access_tokens") and not asked:
            asked.append(path)
            stage.git.token = json.loads(body)["token"]
            stage.proxy.instead = write
        return body

    def write(verb: str, path: str) -> tuple[int, dict[str, str], Any] | None:
        # The server gives no permissions to a token that asks for none; GitHub gives all that the app has.
        given = {"token": stage.repo.token, "expires_at": "2099-01-01T00:00:00Z"}
        return (201, {}, given) if path.endswith("/access_tokens") else None

    stage.proxy.rewrite = learn
    stage.environment |= {
        "INPUT_GITHUB_TOKEN": "",
        "INPUT_APP_PRIVATE_KEY": stage.repo.server.private_key,
        "INPUT_SETTINGS": f"app-id = {APP}",
    }
    done = stage.report("1")
    assert done.code == 0, done.log
    assert stage.bugs == ["torch.alpha"] and stage.issues == {"torch.alpha": 1}
    (request,) = [json.loads(each.body) for each in stage.proxy.seen if each.url.endswith(asked[0])][:1]
    assert request == {"repositories": [stage.repo.name.partition("/")[2]], "permissions": {"contents": "write"}}
    assert stage.git.token in done.log.partition("::add-mask::" + stage.git.token)[1]
    assert stage.git.token not in done.log.replace(f"::add-mask::{stage.git.token}", "") + done.summary


def test_the_dashboard_of_a_night_is_written_where_it_is_asked_for(stage: NightStage) -> None:
    stage.shards("1", ["torch.alpha"], [])
    stage.environment["INPUT_SETTINGS"] = "dashboard = true\nshards = 2"
    done = stage.report("1")
    assert done.code == 0, done.log
    site = Path(done.outputs["dashboard-path"])
    assert (site / "index.html").is_file()
    assert "torch.alpha" in (site / "data" / "index.js").read_text()
    stage.environment["INPUT_SETTINGS"] = "shards = 2"
    stage.shards("2", ["torch.alpha"], [])
    assert "dashboard-path" not in stage.report("2").outputs


def test_nine_new_bugs_and_five_issues_say_that_four_wait(stage: NightStage) -> None:
    stage.shards("1", [f"torch.f{number}" for number in range(9)], [])
    stage.environment["INPUT_SETTINGS"] = "max-new-issues = 5\nshards = 2"
    done = stage.report("1")
    said = "9 new causes: 5 have an issue now, 4 wait for another day"
    assert done.code == 0 and done.outputs["bugs-new"] == "9" and len(stage.issues) == 5
    assert said in done.summary and f"::notice title=nightfuzz::{said}" in done.log


@pytest.mark.parametrize(
    "file", sorted([*ROOT.glob(".github/workflows/nightfuzz*.yml"), *ROOT.glob("docs/examples/**/*.yml")])
)
def test_waiting_for_github_ends_before_the_job_does(file: Path) -> None:
    """Half of the job's time is left for the state and for the list of the work still to do."""
    jobs = [job for job in loaded(file)["jobs"].values() if any(_is_report(step) for step in job.get("steps", []))]
    assert all(job["timeout-minutes"] == REPORT_MINUTES for job in jobs)
    assert RateLimits().in_all == REPORT_MINUTES * 60 / 2


def _is_report(step: dict[str, Any]) -> bool:
    return bool(step.get("with", {}).get("mode") in ("report", "listen"))
