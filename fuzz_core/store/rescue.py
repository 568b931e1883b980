"""A state file that was deleted under way: what is in it is saved while it is still open."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path

from sqlite_utils import Database

from fuzz_core.ir.errors import UserError


def place_of(path: Path) -> tuple[int, int] | None:
    """What tells one file from another of the same name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def rescue(path: Path, db: Database) -> Path | None:
    """Copies an open database to the nearest directory that is there, else to the temporary one.

    None where no disk takes it.
    """
    standing = next((parent for parent in path.parents if parent.is_dir()), Path("/"))
    for folder in (standing, Path(tempfile.gettempdir())):
        kept = folder / f"{path.stem}-rescued-{os.getpid()}{path.suffix}"
        try:
            db.execute("VACUUM INTO ?", [str(kept)])
        except sqlite3.Error:
            continue
        return kept
    return None


def gone(path: Path, kept: Path | None) -> UserError:
    """The error for a state file that is not where it was, and where its contents are."""
    problem = f"the state file {path} is gone: it was removed or replaced while nightfuzz worked with it"
    if kept is None:
        return UserError(f"{problem}, and no other disk takes its contents", "leave the state directory of a run alone")
    return UserError(f"{problem}; everything found so far is in {kept}", f"move that file to {path} and run again")
