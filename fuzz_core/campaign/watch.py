"""The watch of a session, which shows its progress to a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Work(NamedTuple):
    """The work of one worker, and its beginning by the session's clock."""

    what: str
    since: float


class Watch:
    """Shows progress to a person; this base class is silent, and every call is cheap."""

    def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None:
        """Begin a new phase.

        Args:
            total: in the unit of `advance` (items, or seconds of a time-box), 0 if unknown.
            within: seconds after which the phase ends in any case.
        """

    def advance(self, done: float, **figures: object) -> None:
        """Show how far the phase is, and figures beside it."""

    def limit(self, seconds: float) -> None:
        """Show that the phase ends in so many seconds at most; a later limit replaces an earlier one."""

    def work(self, places: Sequence[Work]) -> None:
        """Show what each worker does now."""

    def note(self, text: str) -> None:
        """Show a line that stays."""
