"""Fake time, which passes only while a caller sleeps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class FakeTime:
    """A clock and a sleep that belong together."""

    def __init__(self, start: datetime | None = None) -> None:
        self.now = start or datetime.now(UTC)
        self.slept: list[float] = []

    def clock(self) -> datetime:
        """Returns the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Adds the seconds to the clock and returns at once."""
        self.slept.append(seconds)
        self.now += timedelta(seconds=seconds)
