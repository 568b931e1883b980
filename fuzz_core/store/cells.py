"""Whether a cell of an untrusted state file holds what its column may hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

# Names are parsed as versions and paths, of which no real one is as long.
NAME, SHORT, LONG = 1_000, 8_000, 1 << 20
MAX_COUNT = 2**53
_LONG = {"body", "value", "test", "script", "outcome", "before", "after", "info", "options", "summary"}
_NAMES = {"key", "spec", "library", "version", "python", "target", "baseline", "build", "entry", "kind", "oracle"}
_TIMES = {"made_at", "traced_at", "started", "finished", "found_at", "first_found"}
_TIMES |= {"last_seen", "checked_at", "probed_at"}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?\+00:00")


class Refused(Exception):  # noqa: N818 - named for what became of the row
    """A row says something that no store would have written; the text names the column and what is wrong with it."""


def cell(name: str, kind: str, required: bool) -> Callable[[Any], None]:
    """The check of a column of this name and type: it raises Refused for what it may not hold."""
    check = _TYPES[kind]
    length = LONG if name in _LONG else NAME if name in _NAMES else SHORT

    def checked(value: Any) -> None:
        if value is None:
            if required:
                raise Refused(f"{name}: missing")
        else:
            check(name, value, length)

    return checked


def _text_cell(name: str, value: Any, length: int) -> None:
    if not isinstance(value, str) or len(value) > length:
        raise Refused(f"{name}: no text, or too long")
    if name in _TIMES and not _is_time(value):
        raise Refused(f"{name}: no time")


def _is_time(value: str) -> bool:
    try:
        return bool(_TIME.fullmatch(value) and datetime.fromisoformat(value))
    except ValueError:
        return False


def _integer_cell(name: str, value: Any, length: int) -> None:
    if not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        raise Refused(f"{name}: no count")


def _real_cell(name: str, value: Any, length: int) -> None:
    if not isinstance(value, int | float) or not 0 <= value <= MAX_COUNT:
        raise Refused(f"{name}: no count")


def _blob_cell(name: str, value: Any, length: int) -> None:
    if not isinstance(value, bytes) or len(value) > LONG:
        raise Refused(f"{name}: no bytes, or too many")


_TYPES = {"TEXT": _text_cell, "INTEGER": _integer_cell, "REAL": _real_cell, "BLOB": _blob_cell}
