"""A run on record: when it began, how far it has come, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from fuzz_core.campaign.session import Session

# A run that is killed has told how far it came this many seconds before, at most.
EVERY = 10.0


class Figures(Protocol):
    """What any engine can say of its run. seconds: wall time spent fuzzing."""

    seconds: float

    @property
    def tests(self) -> int:
        """Test cases executed."""

    def summary(self) -> dict[str, Any]:
        """All of it as JSON data."""


class Run:
    """A run of a session, on record from its first second on."""

    def __init__(self, session: Session, seed: int, options: Mapping[str, Any]) -> None:
        self.session = session
        self.number = session.store.start_run(session.target.key, seed, options)
        self.told = 0.0

    def tell(self, figures: Figures) -> None:
        """Puts on record how far it has come, now and then."""
        if figures.seconds >= self.told + EVERY:
            self._tell(figures)

    def end(self, figures: Figures) -> None:
        """Puts on record how it ended."""
        self._tell(figures)
        status = "interrupted" if self.session.stopped() else "done"
        self.session.store.finish_run(self.number, status, figures.summary())

    def _tell(self, figures: Figures) -> None:
        self.told = figures.seconds
        self.session.store.checkpoint_run(self.number, figures.tests, figures.seconds)
