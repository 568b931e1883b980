"""`nightfuzz action plan`: what a fuzz job gets to work with. It runs nothing of the repository or the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import tomlkit

from fuzz_core.ir.errors import UserError
from nightfuzz.bot.action.dependencies import Bump, find_bumps
from nightfuzz.bot.action.inputs import Inputs
from nightfuzz.bot.git import git_in
from nightfuzz.bot.issues.filings import Filings
from nightfuzz.bot.issues.labels import entries_of
from nightfuzz.bot.jobs.issues import read
from nightfuzz.bot.jobs.request import PlanNote
from nightfuzz.bot.jobs.workspace import KNOWN, PLAN, SOURCES
from nightfuzz.bot.state.place import FILINGS, STATE, StateStorage


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
    notes: list[str] = []
    builds = _builds(inputs, workspace, notes)
    _pack_sources(workspace, folder / SOURCES)
    if builds is None:
        return Matrix("", 0, (*notes, "nothing that nightfuzz knows is bumped: nothing to do"))
    planned = PlanNote(target=builds[0], baseline=builds[1], requests=filings.waiting)
    (folder / PLAN).write_text(planned.model_dump_json(), encoding="utf-8")
    return Matrix(json.dumps({"shard": list(range(inputs.settings.shards))}), inputs.settings.shards, tuple(notes))


def _write_known(folder: Path, filings: Filings) -> None:
    """What people have taught by labels, in the form of `nightfuzz-known.toml`."""
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
    first: Bump = found.bumps[0]
    notes.append(f"{first.file}: {first.distribution} goes from {first.old} to {first.new}")
    notes += [f"not compared this time: {each.old} to {each.new}" for each in found.bumps[1:]]
    return first.new, first.old


def _pack_sources(workspace: Path, archive: Path) -> None:
    """The tracked files of the commit: no `.git`, so no credentials, and nothing that lies about."""
    if git_in(workspace, "archive", "--format=tar", "-o", str(archive), "HEAD").code:
        raise UserError(f"the sources in {workspace} cannot be packed", "check out the repository first")
