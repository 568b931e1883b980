"""What a dialect says of a message, remembered: the same few messages come again and again."""

from __future__ import annotations

import re
from typing import Any, cast

from fuzz_core.adapters.dialect import Dialect

MAX_REMEMBERED = 4096
MAX_LENGTH = 2500


class Remembering:
    """A pattern whose `search` is asked once per text."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.known: dict[str, re.Match[str] | None] = {}

    def search(self, text: str) -> re.Match[str] | None:
        """The first match, or None."""
        try:
            return self.known[text]
        except KeyError:
            found = self.pattern.search(text)
        if len(self.known) >= MAX_REMEMBERED:
            self.known.clear()
        if len(text) <= MAX_LENGTH:
            self.known[text] = found
        return found


class Reading:
    """A dialect whose patterns for messages remember; all else is the dialect's own."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.out_of_memory = Remembering(dialect.out_of_memory)
        self.internal_error = Remembering(dialect.internal_error)
        self.poisons = Remembering(dialect.poisons)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dialect, name)


def reading(dialect: Dialect) -> Dialect:
    """The dialect, remembering."""
    return cast(Dialect, Reading(dialect))
