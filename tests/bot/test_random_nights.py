"""Many nights with five random faults each: no finding is lost or filed twice, and no incomplete night is green.

`NIGHTFUZZ_NIGHTS=200` tries a thousand faults, half of them with each seed. A failure repeats with its seed.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from faultproxy import ALL, Plan
from githubserver import Repository
from nightstage import KILLED, SHARDS, NightStage, StepResult, night_stage

from nightfuzz.bot.jobs.workspace import RESULTS

SEEDS = (29, 30)
NIGHTS = int(os.environ.get("NIGHTFUZZ_NIGHTS", "12")) // len(SEEDS)
FAULTS = 5
GIT = ("503", "cut", "lose")
OUR_BUG = 3
pytestmark = [pytest.mark.slow, pytest.mark.timeout(150 * NIGHTS)]


@pytest.fixture
def stage(tmp_path: Path, github_repo: Repository) -> Iterator[NightStage]:
    with night_stage(tmp_path, github_repo) as made:
        yield made


class RandomNights:
    """A stage on which drawn faults wait until they happen."""

    def __init__(self, stage: NightStage, seed: int) -> None:
        self.stage, self.rng = stage, random.Random(seed)
        self.waiting: Counter[str] = Counter()
        self.happened: Counter[str] = Counter()
        # Apis of the bugs that undamaged shards have left.
        self.found: list[str] = []
        self.codes: Counter[int] = Counter()
        self.plan = Plan(1, {})

    def draw(self) -> list[str]:
        """Returns the faults of one night."""
        kinds = [*ALL, *(f"git {each}" for each in GIT), "kill", "kill", "shard missing", "results cut", "clock"]
        return [self.rng.choice(kinds) for _ in range(FAULTS)]

    def arm(self, is_faulty: bool) -> None:
        """Lets waiting faults of API and git happen from now on, each at a random request; or lets none happen."""
        stage, rng = self.stage, random.Random(self.rng.random())
        counts = {name: self.waiting[name] for name in ALL}
        self.plan = Plan(rng.randrange(1 << 30), counts, density=0.2 if is_faulty else 0.0)
        stage.proxy.plan = self.plan
        if not is_faulty:
            return

        def git(path: str) -> str:
            kinds = [f"git {each}" for each in GIT if self.waiting[f"git {each}"]]
            if stage.is_dead or not kinds or rng.random() > 0.3:
                return "cut" if stage.is_dead else ""
            kind = rng.choice(kinds)
            self.note(kind)
            return kind.removeprefix("git ")

        def kill(verb: str, path: str) -> bool:
            if not stage.is_dead and self.waiting["kill"] and rng.random() < 0.05:
                self.note("kill")
                stage.kill()
            return stage.is_dead

        stage.git.fault, stage.proxy.forwarded = git, kill

    def note(self, kind: str) -> None:
        """Counts a waiting fault of this kind as happened."""
        self.waiting[kind] -= 1
        self.happened[kind] += 1

    def disarm(self) -> None:
        """Replaces the runner and ends all faults. Faults that have not happened stay in wait."""
        for name in ALL:
            self.happened[name] += self.waiting[name] - self.plan.left[name]
            self.waiting[name] = self.plan.left[name]
        self.plan = Plan(1, {})
        self.stage.heal()

    def night(self, number: int) -> None:
        """Runs one night: plan, shards, report, and the report job again until it ends as expected."""
        stage, run, api = self.stage, str(number), f"torch.f{number}"
        stage.time.now += timedelta(days=1)
        self.waiting.update(self.draw())
        turned = timedelta(days=self.rng.choice([-1, 1, 365])) if self.waiting["clock"] else timedelta()
        if turned:
            self.note("clock")
        stage.time.now += turned
        self.through(lambda: stage.plan(run))
        stage.shards(run, *([api] if shard == number % SHARDS else [] for shard in range(SHARDS)))
        whole = self.spoil(run, number)
        done = self.through(lambda: stage.report(run), red_in_the_end=not whole)
        stage.time.now -= turned
        assert (done.code == 0) == whole, done.said

    def spoil(self, run: str, number: int) -> bool:
        """Damages results of a shard without the bug, if such a fault waits; returns whether the night is complete."""
        other = (number + 1) % SHARDS
        folder = self.stage.results(run) / f"nightfuzz-results-{other}-nightly"
        self.found.append(f"torch.f{number}")
        if self.waiting["shard missing"]:
            self.note("shard missing")
            shutil.rmtree(folder)
        elif self.waiting["results cut"]:
            self.note("results cut")
            (folder / RESULTS).write_text("{")
        else:
            return True
        return False

    def through(self, step: Callable[[], StepResult], red_in_the_end: bool = False) -> StepResult:
        """Runs a step under faults, again while it fails: up to three times under faults, then once without."""
        for attempt in range(4):
            self.arm(attempt < 3)
            done = step()
            self.disarm()
            self.codes[done.code] += 1
            assert done.code != OUR_BUG, done.log
            assert "bug in nightfuzz" not in done.log
            if done.code == 0 or (red_in_the_end and done.code == 1):
                return done
            assert done.code in (1, 2, KILLED), done.said
        return done


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_and_nothing_is_filed_twice(stage: NightStage, seed: int) -> None:
    nights = RandomNights(stage, seed)
    for number in range(NIGHTS):
        nights.night(number)
        assert set(nights.found) <= set(stage.bugs)
    stage.heal()
    stage.time.now += timedelta(days=2)
    assert stage.plan("last").code == 0
    # A killed runner may leave a claim; the next night that files a bug removes it.
    stage.shards("last", ["torch.last"], [])
    nights.found.append("torch.last")
    last = stage.report("last")
    assert last.code == 0, last.said
    print(f"{NIGHTS} nights, {sum(nights.happened.values())} faults: {dict(sorted(nights.happened.items()))}")
    print(f"exit codes: {dict(nights.codes)}")
    assert set(stage.bugs) == set(nights.found)
    assert stage.issues == dict.fromkeys(nights.found, 1)
    assert stage.claims == []
    assert stage.filings.status is not None and stage.filings.status.left == ()
    assert sum(nights.happened.values()) >= 3 * NIGHTS
