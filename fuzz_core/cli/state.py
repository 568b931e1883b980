"""Access to the state for commands that read it: its file, the key of a recorded target, and the day."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

from fuzz_core.cli.settings import Settings
from fuzz_core.ir.errors import UserError
from fuzz_core.store.statefile import open_store
from fuzz_core.store.store import Store

STATE_FILE = "state.db"


def state_file(settings: Settings) -> Path:
    """Return the state file in the state directory, which is made.

    Raises:
        UserError: the directory cannot be made.
    """
    try:
        settings.state.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"cannot make the state directory {settings.state}: {error.strerror}",
            "name a directory that you can write to: --state DIR",
        ) from error
    return settings.state / STATE_FILE


def open_state(settings: Settings) -> Store:
    """Return the state, to be written.

    Raises:
        UserError: as `state_file` and `open_store`.
    """
    return open_store(state_file(settings))


def read_state(settings: Settings) -> Store:
    """Return the state, to be read alone: no directory is made.

    Raises:
        UserError: the state file cannot be read.
    """
    file = settings.state / STATE_FILE
    try:
        # `open_store` reports a missing file.
        with suppress(FileNotFoundError):
            file.stat()
    except OSError as error:
        problem = f"cannot read the state directory {settings.state}: {error.strerror}"
        raise UserError(problem, "make the directory readable, or name another directory: --state DIR") from error
    return open_store(file, read_only=True)


def target_key(store: Store, wanted: str | None) -> str:
    """Return the key of the target that is meant, or of the one used last.

    Raises:
        UserError: no target is on record.
    """
    known = store.targets()
    if not known:
        remedy = "record one, for example with `nightfuzz trace --target torch==2.13.0`"
        raise UserError(f"the state file {store.path} has no target", remedy)
    if wanted is None:
        return max(known, key=lambda record: record.made_at).key
    for record in known:
        if wanted in (record.key, record.spec):
            return record.key
    remedy = f"name one of its targets: {', '.join(record.key for record in known)}"
    raise UserError(f"the state file {store.path} has no target {wanted!r}", remedy)


def today() -> date:
    """Return the day by which known findings expire, in UTC."""
    return datetime.now(UTC).date()
