"""Faults of the plan job and of the artifacts of plan and fuzz jobs: the second part of the table, a night each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from githubserver import Repository
from nightfaults import ALL, NightFault, hold
from nightinjections import Injection, git_says
from nightstage import KILLED, NightStage, night_stage

from nightfuzz.bot.jobs.workspace import PLAN, PLAN_FOLDER, RESULTS
from nightfuzz.bot.state.place import STATE

pytestmark = pytest.mark.slow
FIRST = ("torch.alpha",)


@pytest.fixture
def stage(tmp_path: Path, github_repo: Repository) -> Iterator[NightStage]:
    with night_stage(tmp_path, github_repo) as made:
        yield made


def folder(stage: NightStage) -> Path:
    """Returns the folder of the second shard's results."""
    return stage.results("1") / "nightfuzz-results-1-nightly"


def missing(stage: NightStage) -> None:
    """The second shard was cancelled or its runner was lost, so its results are missing."""
    stage.strike()
    shutil.rmtree(folder(stage))


def late(stage: NightStage) -> None:
    """The second shard uploads after the report has begun, so a second run of the job finds its results."""
    stage.strike()
    away = stage.home / "late"
    folder(stage).rename(away)
    heal = stage.heal

    def healed() -> None:
        heal()
        if away.exists():
            away.rename(folder(stage))

    stage.heal = healed  # type: ignore[method-assign]


def cut(name: str, part: float) -> Injection:
    """A file of the second shard ends early: its runner was killed while it exported, or its disk was full."""

    def inject(stage: NightStage) -> None:
        stage.strike()
        path = folder(stage) / name
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * part)])

    return inject


def without(name: str) -> Injection:
    """The second shard has not written a file."""

    def inject(stage: NightStage) -> None:
        stage.strike()
        (folder(stage) / name).unlink()

    return inject


def edited(change: Callable[[dict[str, Any]], object]) -> Injection:
    """The second shard's document is changed."""

    def inject(stage: NightStage) -> None:
        stage.strike()
        path = folder(stage) / RESULTS
        told = json.loads(path.read_text())
        change(told)
        path.write_text(json.dumps(told))

    return inject


def again(name: str, **ran: Any) -> Injection:
    """An additional folder holds a bug that no shard of the run has found."""

    def inject(stage: NightStage) -> None:
        stage.strike()
        stage.shard("1", 1, ["torch.evil"], name, **ran)

    return inject


def everything_missing(stage: NightStage) -> None:
    """No fuzz job has left any results."""
    stage.strike()
    for path in stage.results("1").glob("nightfuzz-results-*-nightly"):
        shutil.rmtree(path)


def no_plan(stage: NightStage) -> None:
    """The plan's artifact is gone, or was not downloaded."""
    stage.strike()
    (stage.home / "plan-1" / PLAN).unlink()
    shutil.rmtree(stage.results("1") / PLAN_FOLDER, ignore_errors=True)


SHARDS = [
    NightFault("shard missing", missing, says="shard 1 is missing", is_red_again=True, keeps=FIRST),
    NightFault("shard late", late, says="shard 1 is missing"),
    NightFault("no shard left anything", everything_missing, says="no results", is_red_again=True, keeps=()),
    NightFault("results truncated", cut(RESULTS, 0.5), says="shard 1 is damaged", is_red_again=True),
    NightFault("results empty", cut(RESULTS, 0), says="shard 1 is damaged", is_red_again=True),
    NightFault("state truncated", cut(STATE, 0.5), says="shard 1 is damaged", is_red_again=True, keeps=FIRST),
    NightFault("killed in export: no state", without(STATE), says="shard 1 is damaged", is_red_again=True, keeps=FIRST),
    NightFault("shard of another mode", edited(lambda told: told.update(mode="recheck")), says="of the mode recheck",
        is_red_again=True, keeps=FIRST),
    NightFault("shard of another plan", edited(lambda told: told.update(plan="c" * 64)), says="follow another plan",
        is_red_again=True, keeps=FIRST),
    NightFault("shard of another build", edited(lambda told: told["target"].update(key="torch-9", version="9")),
        says="different builds", is_red_again=True, keeps=ALL),
    NightFault("shard twice", again("x-results-1-nightly"), says="another shard with this number", is_red_again=True),
    NightFault("shard with a number too many", again("x-results-7-nightly", shard=7), says="no shard with this number",
        is_red_again=True),
    NightFault("forged number", edited(lambda told: told.update(shard=0)), says="say that they are of shard 0",
        is_red_again=True, keeps=FIRST),
    NightFault("plan gone", no_plan, says="the plan is not", is_red_again=True),
]  # fmt: skip


@pytest.mark.parametrize("fault", SHARDS, ids=str)
def test_a_night_is_neither_lost_nor_falsified(stage: NightStage, fault: NightFault) -> None:
    hold(stage, fault)
    assert "torch.evil" not in stage.bugs


@pytest.mark.parametrize("kills", [False, True], ids=["git away", "killed"])
def test_a_plan_that_fails_starts_no_shard_and_the_next_night_is_whole(stage: NightStage, kills: bool) -> None:
    git_says("cut", kills=kills)(stage)
    done = stage.plan("1")
    assert stage.strikes and done.code == (KILLED if kills else 2) and "matrix" not in done.outputs
    stage.heal()
    hold(stage, NightFault("the next night", NightStage.strike, is_red=False))
