"""The health issue: an incomplete night or a disabled schedule opens it, and a complete night closes it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from githubserver import Repository
from hubs import hub_of
from nightstage import NightStage, night_stage

from nightfuzz.bot.issues.health import MARKER, update_health

NIGHT = ".github/workflows/nightfuzz.yml"
RUN = "https://h/o/r/actions/runs/1"


@pytest.fixture
def stage(tmp_path: Path, github_repo: Repository) -> Iterator[NightStage]:
    with night_stage(tmp_path, github_repo) as made:
        yield made


def workflows(stage: NightStage, **states: str) -> None:
    """Sets the states that GitHub reports for workflows; the server has no Actions."""
    told: dict[str, Any] = {
        "workflows": [{"path": f".github/workflows/{name}.yml", "state": state} for name, state in states.items()]
    }
    stage.proxy.instead = lambda verb, path: (200, {}, told) if path.endswith("/actions/workflows") else None


def test_an_incomplete_night_opens_it_and_a_whole_one_closes_it(stage: NightStage) -> None:
    for run in ("1", "2"):
        (_, lost) = stage.shards(run, ["torch.alpha"], [])
        shutil.rmtree(lost)
        assert stage.report(run).code == 1
        ((state, body),) = stage.health
        assert state == "open" and "shard 1 is missing" in body and f"/actions/runs/{run}" in body
    stage.shards("3", [], [])
    assert stage.report("3").code == 0
    ((state, _),) = stage.health
    assert state == "closed" and stage.issues == {"torch.alpha": 1}


def test_a_night_without_any_results_opens_it(stage: NightStage) -> None:
    assert stage.report("1").code == 2
    ((state, body),) = stage.health
    assert state == "open" and "no results to report" in body


def test_a_whole_night_with_its_schedule_on_says_nothing(stage: NightStage) -> None:
    workflows(stage, nightfuzz="active", other="disabled_inactivity")
    stage.shards("1", [], [])
    assert stage.report("1").code == 0 and stage.health == []


def test_a_schedule_that_github_disabled_is_seen_by_the_runs_that_still_come(stage: NightStage) -> None:
    workflows(stage, nightfuzz="disabled_inactivity")
    hub = hub_of(stage.repo, stage.time, stage.proxy.url)
    update_health(hub, (), RUN, is_night=False)
    ((state, body),) = stage.health
    assert state == "open" and NIGHT.replace("_", "\\_") in body
    workflows(stage, nightfuzz="active")
    update_health(hub, (), RUN, is_night=False)
    assert stage.health[0][0] == "open", "a command in a comment does not know how the last night went"
    update_health(hub, (), RUN)
    assert stage.health[0][0] == "closed"


def test_it_is_no_issue_of_a_bug(stage: NightStage) -> None:
    hub = hub_of(stage.repo, stage.time)
    update_health(hub, ["a shard\n@everyone <b>is</b> missing"], RUN)
    ((_, body),) = stage.health
    assert "@everyone" not in body.replace("\\@", "") and "<b>" not in body
    stage.shards("1", ["torch.alpha"], [])
    assert stage.report("1").code == 0
    assert stage.issues == {"torch.alpha": 1} and list(stage.filings.issues) != [1]
    assert MARKER.kind == "health"
