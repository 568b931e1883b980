"""`nightfuzz action plan`: prepares the fuzz jobs and runs nothing of the repository or the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import tomlkit
from pydantic import ValidationError

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.dependencies import find_bumps
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.issues.filings import CommandRequest, Filings
from nightfuzz.bot.issues.labels import entries_of
from nightfuzz.bot.jobs.issues import read
from nightfuzz.bot.jobs.patterns import check_patterns
from nightfuzz.bot.jobs.settings import keep_base_settings
from nightfuzz.bot.jobs.sources import pack_sources
from nightfuzz.bot.jobs.workspace import KNOWN, PLAN, SOURCES
from nightfuzz.bot.state.place import FILINGS, STATE, StateStorage
from nightfuzz.reports.results import Name, Part

PLAN_BYTES = 4 << 20


class PlanNote(Part):
    """Findings of the plan job. target, baseline: specs, where the pull request's files name them.

    requests: what people asked for in comments; their fingerprints are looked up in the state.
    """

    target: Name | None = None
    baseline: Name | None = None
    requests: tuple[CommandRequest, ...] = ()


class Matrix(NamedTuple):
    """text: JSON for `strategy.matrix`, empty where there is nothing to fuzz. notes: lines for the summary."""

    text: str
    shards: int
    notes: tuple[str, ...] = ()


def plan_job(inputs: Inputs, place: StateStorage, workspace: Path) -> Matrix:
    """Writes the folder `results`: the state, the sources, and a note with what was found out."""
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
    if builds is None:
        return Matrix("", 0, (*notes, "nothing that nightfuzz knows is bumped: nothing to do"))
    notes += check_patterns(inputs, workspace, files, builds[0])
    planned = PlanNote(target=builds[0], baseline=builds[1], requests=filings.waiting)
    (folder / PLAN).write_text(planned.model_dump_json(), encoding="utf-8")
    return Matrix(json.dumps({"shard": list(range(inputs.settings.shards))}), inputs.settings.shards, tuple(notes))


def _write_known(folder: Path, filings: Filings) -> None:
    """Write the bugs that people silenced by labels, in the form of `nightfuzz-known.toml`."""
    rows = [entry.model_dump(mode="json", exclude_defaults=True) for entry in entries_of(filings)]
    (folder / KNOWN).write_text(tomlkit.dumps({"known": rows}) if rows else "", encoding="utf-8")


def _builds(inputs: Inputs, workspace: Path, notes: list[str]) -> tuple[str | None, str | None] | None:
    """Specs that the pull request's files name; of several bumps the surest. None where there is none to compare."""
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


def read_plan(inputs: Inputs) -> PlanNote:
    """The note of the plan job, empty where there was none. Raises UserError for one that cannot be read."""
    path = inputs.plan_folder / PLAN if inputs.plan_folder else None
    if path is None or not path.is_file():
        return PlanNote()
    try:
        return PlanNote.model_validate_json(path.read_bytes()[:PLAN_BYTES])
    except (OSError, ValidationError) as error:
        raise UserError(f"{PLAN} cannot be read", "run the plan job again") from error


def specs(inputs: Inputs, plan: PlanNote) -> tuple[str, str | None]:
    """Specs of the target and the baseline. Raises UserError where the mode needs one that nobody named."""
    target, baseline = inputs.target or plan.target, inputs.baseline or plan.baseline
    if target is None:
        raise UserError("input target is empty", "name the build to fuzz, such as torch-nightly")
    if inputs.mode == "bump" and baseline is None:
        raise UserError("input baseline is empty", "name the build that is in use now, such as torch==2.12.0")
    return target, baseline if inputs.mode in ("nightly", "bump") else None
