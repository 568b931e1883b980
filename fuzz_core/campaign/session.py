"""What every phase of a campaign shares."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from fuzz_core.adapters.dialect import Dialect, dialect_of
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.store import Store

MEMORY_BYTES = 4 << 30


class Watch(Protocol):
    """Shows progress to a person; every call is cheap."""

    def phase(self, name: str, total: float = 0.0) -> None:
        """A new phase begins; `total` in the unit of `advance` (items, or seconds of a time-box), 0 if unknown."""

    def advance(self, done: float, **figures: object) -> None:
        """How far the phase is, and figures to show beside it."""

    def note(self, text: str) -> None:
        """A line that stays."""


class Silent:
    """A watch that shows nothing."""

    def phase(self, name: str, total: float = 0.0) -> None:
        """Shows nothing."""

    def advance(self, done: float, **figures: object) -> None:
        """Shows nothing."""

    def note(self, text: str) -> None:
        """Shows nothing."""


@dataclass
class Session:
    """One target under work. `stopped` turns true when the user interrupts; `clock` is monotonic seconds."""

    store: Store
    target: TargetRecord
    state_dir: Path
    workers: int = 2
    watch: Watch = field(default_factory=Silent)
    stopped: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self.clock = steady(self.clock)

    def is_over(self, deadline: float | None, reserve: float = 0.0) -> bool:
        """Whether the user has stopped the session, or fewer than `reserve` seconds are left until the deadline."""
        return self.stopped() or (deadline is not None and self.clock() >= deadline - reserve)

    @property
    def dialect(self) -> Dialect:
        """The dialect of the target's library."""
        return dialect_of(self.target.library)


def steady(clock: Callable[[], float]) -> Callable[[], float]:
    """The same clock, which goes on from where it was when it is set back: else a time-box would last that longer."""
    last, lost = clock(), 0.0

    def reading() -> float:
        nonlocal last, lost
        now = clock()
        lost += max(0.0, last - now)
        last = now
        return now + lost

    return reading
