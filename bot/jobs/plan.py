"""`nightfuzz action plan`: prepares the fuzz jobs and runs no code of the repository or the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, cast

import tomlkit

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.dependencies import find_bumps
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.labels import entries_of
from nightfuzz.bot.jobs.issues import read
from nightfuzz.bot.jobs.locks import describe, plan_builds
from nightfuzz.bot.jobs.note import HandedPlan, PlannedBuild, PlanNote, read_note
from nightfuzz.bot.jobs.patterns import check_patterns
from nightfuzz.bot.jobs.settings import keep_base_settings
from nightfuzz.bot.jobs.sources import pack_base, pack_sources
from nightfuzz.bot.jobs.workspace import KNOWN, PLAN, SOURCES
from nightfuzz.bot.state.place import FILINGS, STATE, StateStorage
from nightfuzz.reports.results import Mode


class Matrix(NamedTuple):
    """The matrix of the fuzz jobs."""

    text: str  # JSON for `strategy.matrix`; empty if there is no work
    shards: int
    notes: tuple[str, ...] = ()  # lines for the summary


def plan_job(inputs: Inputs, place: StateStorage, workspace: Path, run: str = "") -> Matrix:
    """Write the folder `results`: the state, the sources, and the plan document.

    Args:
        run: makes this plan different from the plans of other runs, see PlanNote.
    """
    folder = inputs.results.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    snapshot = place.load()
    files = {} if snapshot is None else snapshot.files
    for name, data in files.items():
        if name.startswith(STATE):
            (folder / name).write_bytes(data)
    filings = read(files.get(FILINGS, b""))
    _write_known(folder, filings)
    notes = [*keep_base_settings(inputs, workspace, folder)]
    builds = _builds(inputs, workspace, notes)
    notes += pack_sources(workspace, folder / SOURCES)
    notes += pack_base(workspace, folder) if inputs.mode == "pr" else ()
    if builds is None:
        return Matrix("", 0, (*notes, "no library that nightfuzz knows is bumped: no work to do"))
    notes += check_patterns(inputs, workspace, files, builds[0])
    wanted = _needed(inputs, *builds)
    planned = plan_builds(inputs, [spec for spec in wanted if spec is not None], workspace)
    for what, build in zip(("target", "baseline"), planned, strict=False):
        notes += describe(what, build)
    shards = tuple(range(inputs.settings.shards))
    note = PlanNote(
        run=run,
        mode=cast(Mode, inputs.mode),
        target=planned[0],
        baseline=planned[1] if len(planned) > 1 else None,
        shards=shards,
        requests=filings.waiting,
    )
    (folder / PLAN).write_text(note.model_dump_json(), encoding="utf-8")
    return Matrix(json.dumps({"shard": shards}), len(shards), tuple(notes))


def _write_known(folder: Path, filings: Filings) -> None:
    """Write the bugs that people silenced by labels, in the form of `nightfuzz-known.toml`."""
    rows = [entry.model_dump(mode="json", exclude_defaults=True) for entry in entries_of(filings)]
    (folder / KNOWN).write_text(tomlkit.dumps({"known": rows}) if rows else "", encoding="utf-8")


def _builds(inputs: Inputs, workspace: Path, notes: list[str]) -> tuple[str | None, str | None] | None:
    """Return the specs in the pull request's files; of several bumps, the most precise.

    None if there is no bump.
    """
    if inputs.mode != "bump" or inputs.target:
        return inputs.target, inputs.baseline
    found = find_bumps(workspace, "HEAD^1", "HEAD")
    notes += found.problems
    if not found.bumps:
        return None
    first = found.bumps[0]
    notes.append(f"{first.file}: {first.distribution} goes from {first.old} to {first.new}")
    notes += [f"not compared this time: {each.old} to {each.new}" for each in found.bumps[1:]]
    return first.new, first.old


def read_plan(inputs: Inputs) -> HandedPlan:
    """Read the document of the plan job; an empty one without a plan.

    Raises:
        UserError: an unreadable document.
    """
    path = inputs.plan_folder / PLAN if inputs.plan_folder else None
    return read_note(path) if path is not None and path.is_file() else HandedPlan(PlanNote(), "")


def builds_of(inputs: Inputs, plan: PlanNote) -> tuple[PlannedBuild, PlannedBuild | None]:
    """Return the target and the baseline: those of the plan if there is a plan, else those of the inputs.

    Raises:
        UserError: the mode needs a build that is not named, or the shard is not in the plan.
    """
    if plan.shards and inputs.shard not in plan.shards:
        raise UserError(
            f"input shard: the plan has {len(plan.shards)} shards, and none has the number {inputs.shard}",
            "set the input shard to a value from `matrix`, an output of the plan job, or run the plan job again",
        )
    if plan.target is not None:
        return plan.target, plan.baseline
    target, baseline = _needed(inputs, inputs.target, inputs.baseline)
    return PlannedBuild(spec=target), None if baseline is None else PlannedBuild(spec=baseline)


def _needed(inputs: Inputs, target: str | None, baseline: str | None) -> tuple[str, str | None]:
    """Return the specs that the mode needs.

    Raises:
        UserError: a spec is missing.
    """
    if target is None:
        raise UserError("input target is empty", "name the build to fuzz, such as torch-nightly")
    if inputs.mode == "bump" and baseline is None:
        raise UserError("input baseline is empty", "name the build that is in use now, such as torch==2.12.0")
    return target, baseline if inputs.mode in ("nightly", "bump") else None
