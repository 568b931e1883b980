"""The results of a run's shards: the sound parts together, and the faults of the broken parts.

Shards ran untrusted code. A shard's number is that in the name of its artifact, which the workflow gave; its builds are
those of the plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.jobs.note import HandedPlan, PlannedBuild, handed_plan
from nightfuzz.bot.jobs.workspace import PLAN_FOLDER, RESULTS, TOLD
from nightfuzz.bot.state.place import STATE
from nightfuzz.bot.state.shards import Shards, read_shards
from nightfuzz.reports.artifact import folders_with
from nightfuzz.reports.results import BuildEntry, RunResult, merged, read_result

# The workflows name an artifact `NAME-results-SHARD-MODE`.
_ARTIFACT = re.compile(r"-results-(\d{1,3})-[a-z]+")


class CollectedRun(NamedTuple):
    """The sound parts of a run."""

    # the merged documents; problems of a missing, damaged or different shard come first and make it incomplete
    result: RunResult
    shards: Shards  # states and encrypted parts


class _Shard(NamedTuple):
    """The results of one shard."""

    folder: Path
    named: int | None  # number in the name of the artifact; None if the name has none
    result: RunResult | None  # None for a document that cannot be read
    problem: str = ""  # reason why the document cannot be read

    @property
    def number(self) -> int | None:
        return self.result.shard if self.named is None and self.result is not None else self.named

    @property
    def name(self) -> str:
        return f"the shard in {self.folder.name[:100]}" if self.named is None else f"shard {self.named}"


def collect(inputs: Inputs, scratch: Path) -> CollectedRun:
    """Read the shards' results below the folder `results`, and unpack their states into `scratch`.

    A sound part is kept even if another part of the shard is broken: a document without its state, or the state alone.
    All parts of a shard that is not of this run are left out. If there are states but no document, the plan names the
    run.

    Raises:
        UserError: the plan is missing as well, or the documents have several modes or libraries.
    """
    plan, faults = _plan(inputs.results)
    wanted = _wanted(inputs, plan)
    found = [_read(folder, inputs.results) for folder in folders(inputs.results)]
    ours: list[_Shard] = []
    for shard in found:
        fault = _foreign(shard, plan, wanted, [each.number for each in ours])
        if fault:
            faults.append(f"{shard.name} is left out: {fault}")
        else:
            ours.append(shard)
            faults += [f"{shard.name} is damaged: {shard.problem}"] if shard.problem else []
    kept = [shard.result for shard in ours if shard.result is not None]
    lost = wanted - {shard.number for shard in found}
    faults += [
        f"shard {number} is missing: its job left no results, and the log of the job says why"
        for number in sorted(lost)
    ]
    if not kept and ours and plan is not None:
        kept = _empty(plan)
    if not kept:
        why = "; ".join(faults) or "the fuzz job has left no results"
        raise UserError(
            f"no results to report in {inputs.results}: {why}",
            "correct the cause that the log of the fuzz job shows, and run the fuzz job again",
        )
    faults += _kinds(kept)
    if plan is None and not faults and any(each.plan for each in kept):
        faults.append(f"the plan is not in the folder {PLAN_FOLDER} of the results: builds and shards are not checked")
    shards, damaged = read_shards([(shard.name, shard.folder) for shard in ours], scratch)
    return CollectedRun(merged(kept).with_faults([*faults, *damaged]), shards)


def folders(root: Path) -> Iterator[Path]:
    """Yield the folders with a document or a state below one, whichever way the artifacts were unpacked.

    A shard may bring folders of its own: none below one of these is another shard.
    """
    paths = {*folders_with(RESULTS, root), *folders_with(STATE, root)}
    own = {root / PLAN_FOLDER, root / TOLD}
    yield from (path for path in sorted(paths) if path not in own and not (own | paths) & {*path.parents})


def _plan(results: Path) -> tuple[HandedPlan | None, list[str]]:
    try:
        return handed_plan(results), []
    except UserError as error:
        return None, [f"{error.problem}: builds are not checked"]


def _wanted(inputs: Inputs, plan: HandedPlan | None) -> set[int]:
    """Return the numbers of the run's shards; empty for a run of one job that had no plan."""
    asked = inputs.settings.shards
    return {*(plan.note.shards if plan else ()), *(range(asked) if asked > 1 else ())}


def _empty(plan: HandedPlan) -> list[RunResult]:
    """Return the document of a planned run without results; None if the plan has no lock of its target."""
    note = plan.note
    lock = None if note.target is None else note.target.lock
    if note.mode is None or lock is None:
        return []
    target = BuildEntry(key=f"{lock.distribution}-{lock.version}", library=lock.library, version=lock.version)
    return [RunResult(mode=note.mode, target=target, plan=plan.identity)]


def _read(folder: Path, root: Path) -> _Shard:
    # The name that the workflow gave is the outermost one.
    named = _ARTIFACT.search("/".join(folder.relative_to(root).parts))
    number = int(named[1]) if named else None
    try:
        return _Shard(folder, number, read_result(folder / RESULTS, root))
    except UserError as error:
        return _Shard(folder, number, None, error.problem)


def _foreign(shard: _Shard, plan: HandedPlan | None, wanted: set[int], before: Sequence[int | None]) -> str:
    """Return why a shard does not count; empty if it belongs to this run.

    Args:
        before: numbers of the accepted shards.
    """
    if wanted and shard.number is not None and shard.number not in wanted:
        return f"the run has {len(wanted)} shards, and no shard with this number"
    if wanted and shard.number in before:
        return "the results have another shard with this number"
    if shard.result is None:
        # A state alone does not name its build, so the name of its artifact has to do.
        return "" if shard.number is not None or not wanted else shard.problem
    if shard.named not in (None, shard.result.shard):
        return f"its results say that they are of shard {shard.result.shard}"
    return _unplanned(shard.result, plan) if plan else ""


def _unplanned(result: RunResult, plan: HandedPlan) -> str:
    """Return how a document differs from the plan; empty if it fits."""
    note = plan.note
    if result.plan != plan.identity:
        return "its results follow another plan" if result.plan else "its results follow no plan"
    if result.mode != note.mode:
        return f"its results are of the mode {result.mode}, but the plan has the mode {note.mode}"
    for what, planned, build in (("target", note.target, result.target), ("baseline", note.baseline, result.baseline)):
        if (planned is None) != (build is None) or (planned and build and not _fits(planned, build)):
            return f"its {what} is {build.key if build else 'none'}, but the plan has {_told(planned)}"
    return ""


def _fits(planned: PlannedBuild, build: BuildEntry) -> bool:
    return planned.lock is None or planned.lock.artifact_of(build.key) is not None


def _told(planned: PlannedBuild | None) -> str:
    if planned is None or planned.lock is None:
        return "none" if planned is None else planned.spec
    return f"{planned.lock.distribution} {planned.lock.version}"


def _kinds(results: Sequence[RunResult]) -> list[str]:
    """Say which shards ran which builds, if the builds differ."""
    shards: dict[str, list[str]] = {}
    for result in sorted(results, key=lambda each: each.shard):
        shards.setdefault(" against ".join(result.builds), []).append(str(result.shard))
    if len(shards) < 2:
        return []
    told = "; ".join(f"{build} in shard {', '.join(numbers)}" for build, numbers in shards.items())
    return [f"the shards ran different builds: {told}. Set flavour and python-version, or pin the build"]
