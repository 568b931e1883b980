"""The folder of one job: where its state and sources lie, and what its steps have noted for the next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError

from fuzz_core.cli.state import STATE_FILE
from fuzz_core.ir.errors import UserError
from nightfuzz.reports.results import Mode, Name, Names, Part

TOLD_BYTES = 256 << 20


class Begun(Part):
    """What a fuzz job noted before it began. was: the status of every bug then, by fingerprint; at: ISO 8601, UTC."""

    mode: Mode
    target: Name
    baseline: Name | None = None
    at: Name
    was: Mapping[Name, Name] = Field(default_factory=dict)
    protection: Names = ()


class Ended(Part):
    """How its commands ended: exit codes by name, in the order in which they ran, and what went wrong in words."""

    codes: Mapping[Name, int] = Field(default_factory=dict)
    problems: Names = ()
    stopped: bool = False


class Work(NamedTuple):
    """root: for notes. state: directory of the state file. sources: of the user's repository."""

    root: Path
    state: Path
    sources: Path

    @property
    def state_file(self) -> Path:
        """The state file, which need not be there."""
        return self.state / STATE_FILE

    def told(self, name: str) -> Path:
        """Where the JSON of a command goes."""
        return self.root / f"told-{name}.json"

    def answer(self, name: str) -> Any:
        """What a command has said; an empty dict where it has said nothing that can be read."""
        path = self.told(name)
        try:
            return json.loads(path.read_bytes()) if path.stat().st_size <= TOLD_BYTES else {}
        except (OSError, ValueError, RecursionError):
            return {}

    def note(self, note: Begun | Ended) -> None:
        """Keeps a note for the steps that follow."""
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / f"{type(note).__name__.lower()}.json").write_text(note.model_dump_json(), encoding="utf-8")

    def begun(self) -> Begun:
        """The note from before it began. Raises UserError where the job did not come that far."""
        try:
            return Begun.model_validate_json((self.root / "begun.json").read_bytes())
        except (OSError, ValidationError) as error:
            raise UserError("the job ended before it could begin to fuzz", "the log of its step says why") from error

    def ended(self) -> Ended:
        """The note from after it; where it was killed before, that is what the note says."""
        try:
            return Ended.model_validate_json((self.root / "ended.json").read_bytes())
        except (OSError, ValidationError):
            return Ended(stopped=True)
