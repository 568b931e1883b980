"""A run in shards as its report finds it: the plan, and the results of each shard."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from actioninputs import inputs
from leavings import leave

from fuzz_core.store.statefile import open_store
from fuzz_core.targets.artifact import Artifact
from fuzz_core.targets.lock import BuildLock
from nightfuzz.bot.jobs.collection import CollectedRun, collect
from nightfuzz.bot.jobs.note import PlannedBuild, PlanNote, handed_plan
from nightfuzz.bot.jobs.workspace import PLAN, PLAN_FOLDER

CPU, CUDA = "a" * 64, "b" * 64
LABELS = {"cpu": CPU, "cu130": CUDA}
NAMES = ["alpha", "beta", "gamma"]


def key(label: str = "cpu", python: str = "cp312") -> str:
    """Returns the key of a target that was made of one of the planned files."""
    return f"torch-2.13.0.dev20260424+{label}-{python}-{LABELS[label][:8]}"


def artifact(label: str, digest: str) -> Artifact:
    version = f"2.13.0.dev20260424+{label}"
    name = f"torch-{version}-cp312-cp312-manylinux_2_28_x86_64.whl"
    return Artifact("https://h/whl", "torch", version, name, f"https://h/whl/{name}", digest)


LOCK = BuildLock("torch", "torch", "2.13.0.dev20260424", tuple(artifact(*each) for each in LABELS.items()))


class NightRun:
    """The folder of the results, with the plan of a night in two shards."""

    def __init__(self, home: Path, **note: Any) -> None:
        self.home, self.results = home, home / "results"
        planned = {"mode": "nightly", "target": PlannedBuild(spec="torch-nightly", lock=LOCK), "shards": (0, 1), **note}
        (self.results / PLAN_FOLDER).mkdir(parents=True)
        (self.results / PLAN_FOLDER / PLAN).write_text(PlanNote(run="7 now", **planned).model_dump_json())
        plan = handed_plan(self.results)
        assert plan is not None
        self.identity = plan.identity

    def folder(self, number: int) -> Path:
        """Returns the folder into which a shard's artifact is unpacked."""
        return self.results / f"nightfuzz-results-{number}-nightly"

    def leave(self, number: int, folder: Path | None = None, **ran: Any) -> Path:
        """Makes an undamaged shard with one bug of its own; `ran` overrides its facts."""
        given = {"key": key(), "plan": self.identity, "shard": number, "shards": 2, **ran}
        return leave(folder or self.folder(number), [f"torch.{NAMES[number]}"], **given)

    def copied(self, home: Path) -> NightRun:
        """Copies the run into another folder."""
        shutil.copytree(self.results, home / "results")
        copy = NightRun.__new__(NightRun)
        copy.home, copy.results, copy.identity = home, home / "results", self.identity
        return copy

    def collect(self, **given: Any) -> CollectedRun:
        """Returns the results as the report job collects them."""
        scratch = self.home / "scratch"
        scratch.mkdir()
        return collect(inputs(mode="report", results=self.results, github_token="t", **given), scratch)


def found(told: CollectedRun) -> list[str]:
    """Returns apis of the bugs in the documents."""
    return sorted(bug.api.removeprefix("torch.") for bug in told.result.bugs)


def states(told: CollectedRun) -> list[str]:
    """Returns apis of the bugs in the states."""
    apis: list[str] = []
    for path in told.shards.states:
        with open_store(path, read_only=True) as store:
            apis += [bug.api.removeprefix("torch.") for bug in store.bugs()]
    return sorted(apis)
