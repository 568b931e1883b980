"""Folders of a job on the runner, the files in them, and what jobs hand to each other."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from fuzz_core.cli.state import STATE_FILE
from fuzz_core.ir.errors import UserError
from fuzz_core.store.intake import look_over
from nightfuzz.bot.action.inputs import PULLS, Inputs
from nightfuzz.bot.state.place import STATE, StateStorage, parts, unpack
from nightfuzz.bot.state.update import fetch_state
from nightfuzz.reports.results import Mode, Name, Names, StrictModel

PLAN, SOURCES, KNOWN = "plan.json", "sources.tar", "known.toml"
# Data of a pull request: the paths that differ from its base, and the files there as they were.
CHANGED, BASE_FILES = "changed.json", "base.tar"
# The settings and known findings of the commit that a pull request is compared with.
BASE_SETTINGS, BASE_KNOWN = "base-nightfuzz.toml", "base-known.toml"
# Folders in that of the results: the plan's artifact, and what the report job writes there.
PLAN_FOLDER, TOLD = "plan", "told"
RESULTS, SARIF, JUNIT, REPORT = "results.json", "nightfuzz.sarif", "junit.xml", "report.md"


def work_of(inputs: Inputs, environment: Mapping[str, str]) -> Workspace:
    """Return the folders of a fuzz job.

    A state that stays on the runner is worked on where it is, by nights alone.

    The user's repository comes out of the plan's artifact if it has one, else it is the runner's workspace.
    """
    root = Path(environment.get("RUNNER_TEMP") or ".").resolve() / f"nightfuzz-work-{inputs.shard}"
    stays = inputs.state == "directory" and inputs.mode not in PULLS
    state = inputs.state_path.resolve() if stays and inputs.state_path else root / "state"
    packed = inputs.plan_folder is not None and (inputs.plan_folder / SOURCES).is_file()
    sources = root / "sources" if packed else Path(environment.get("GITHUB_WORKSPACE") or ".").resolve()
    return Workspace(root, state, sources)


def restore(inputs: Inputs, work: Workspace, place: Callable[[], StateStorage]) -> tuple[str, ...]:
    """Put the state into the job's folder: out of the plan's artifact, or from the repository.

    A directory has it.

    A pull request works on a copy. Otherwise its seeds would count as known, and a repeated check as clean.

    Returns:
        The fault of an unreadable state: the job begins anew, and the report keeps the old state aside.
    """
    if work.state_file.exists():
        return ()
    work.state.mkdir(parents=True, exist_ok=True)
    if inputs.state == "directory":
        kept_file = (inputs.state_path or Path()).resolve() / STATE_FILE
        if inputs.mode in PULLS and kept_file.is_file():
            with closing(sqlite3.connect(kept_file)) as kept_state, closing(sqlite3.connect(work.state_file)) as copy:
                kept_state.backup(copy)
        return ()
    if inputs.state == "repository":
        return fetch_state(place(), work.state_file)[1]
    folder = inputs.state_path or Path()
    try:
        kept = parts({path.name: path.read_bytes() for path in folder.glob(f"{STATE}*")})
        if kept:
            unpack(kept, work.state_file)
            look_over(work.state_file)
    except UserError as error:
        work.state_file.unlink(missing_ok=True)
        return (error.problem,)
    return ()


TOLD_BYTES = 256 << 20


class StartNote(StrictModel):
    """The note that a fuzz job writes at its start."""

    mode: Mode
    target: Name
    baseline: Name | None = None
    at: Name  # ISO 8601, UTC
    plan: Name = ""  # digest of the plan that the job follows; empty for none
    was: Mapping[Name, Name] = Field(default_factory=dict)  # status of every bug at the start, by fingerprint
    protection: Names = ()


class EndNote(StrictModel):
    """The exit codes of the job's commands by name, in the order of their execution, and the faults in words."""

    codes: Mapping[Name, int] = Field(default_factory=dict)
    problems: Names = ()
    stopped: bool = False


class Workspace(NamedTuple):
    """The folders of a fuzz job.

    Attributes:
        root: for notes.
        state: directory of the state file.
        sources: of the user's repository.
    """

    root: Path
    state: Path
    sources: Path

    @property
    def base(self) -> Path:
        """The folder of the sources before a pull request's change; it need not be there."""
        return self.root / "base"

    @property
    def state_file(self) -> Path:
        """The path of the state file, which may not exist."""
        return self.state / STATE_FILE

    def answer_file(self, name: str) -> Path:
        """Return the file for the JSON of a command."""
        return self.root / f"told-{name}.json"

    def answer(self, name: str) -> Any:
        """Return the JSON that a command printed; an empty dict where it printed no readable JSON."""
        path = self.answer_file(name)
        try:
            return json.loads(path.read_bytes()) if path.stat().st_size <= TOLD_BYTES else {}
        except (OSError, ValueError, RecursionError):
            return {}

    def note(self, note: StartNote | EndNote) -> None:
        """Keep a note for the steps that follow."""
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / f"{type(note).__name__.lower()}.json").write_text(note.model_dump_json(), encoding="utf-8")

    def start_note(self) -> StartNote:
        """Read the note of the job's start.

        Raises:
            UserError: the job did not start.
        """
        try:
            return StartNote.model_validate_json((self.root / "startnote.json").read_bytes())
        except (OSError, ValidationError) as error:
            why = "; ".join(self.end_note().problems) or "the log of the fuzz step says why"
            problem = f"the job ended before it began to fuzz: {why}"
            raise UserError(problem, "correct the cause, and run the job again") from error

    def end_note(self) -> EndNote:
        """Read the note of the job's end; a note that says so for a job that was killed."""
        try:
            return EndNote.model_validate_json((self.root / "endnote.json").read_bytes())
        except (OSError, ValidationError):
            return EndNote(stopped=True)
