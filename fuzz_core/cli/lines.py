"""Progress as lines of a log, which are never silent for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime

from fuzz_core.cli.status import STARTING, Display, Pace
from fuzz_core.cli.streams import printable

PLAIN_SECONDS, VERBOSE_SECONDS = 10.0, 1.0


class LineProgress(Display):
    """A line per phase, the notes, and never a longer silence than `every` seconds; each line begins with the time.

    Args:
        clock: monotonic seconds.
        wall: the time of day.
        beats: whether a thread prints while the phase does not advance.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = datetime.now,
        every: float = PLAIN_SECONDS,
        beats: bool = False,
    ) -> None:
        self.write = write
        self.clock = clock
        self.wall = wall
        self.every = every
        self.name = STARTING
        self.total = self.done = 0.0
        self.figures: dict[str, object] = {}
        self.pace = Pace()
        self.began = self.last = clock()
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep_beating, daemon=True) if beats else None

    def __enter__(self) -> LineProgress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None:
        """Say that a phase begins."""
        with self._lock:
            self.name, self.total, self.done, self.figures = name, total, 0.0, {}
            self.began, self.pace = self.clock(), Pace(total, within)
            self._line(f"{name} …")

    def advance(self, done: float, **figures: object) -> None:
        """Say how far the phase is, now and then."""
        with self._lock:
            self.done, self.figures = done, figures
            self.pace.add(self.clock() - self.began, done)
            self.beat()

    def limit(self, seconds: float) -> None:
        """Take when the phase ends at the latest."""
        with self._lock:
            self.pace.within = self.clock() - self.began + seconds

    def beat(self) -> None:
        """Say how far the phase is, where the last line is long ago."""
        with self._lock:
            if self.clock() - self.last >= self.every:
                figures = _figures(self.figures)
                self._line(f"{self.name}: {self._far()}{f'  {figures}' * bool(figures)}")

    def note(self, text: str) -> None:
        """Say it."""
        with self._lock:
            self._line(printable(text))

    def _line(self, text: str) -> None:
        self.last = self.clock()
        self.write(f"{self.wall():%H:%M:%S} {text}")

    def _far(self) -> str:
        """Return how far the phase is, and how long it will still take, or has taken if the end is not known."""
        spent = self.clock() - self.began
        if (left := self.pace.left(spent)) is not None:
            done = f"{self.done:.0f}/{self.total:g}, " if self.total else ""
            return f"{done}about {left:.0f} s left"
        return f"{f'{self.done:.0f}, ' * bool(self.done)}{spent:.0f} s so far"

    def _keep_beating(self) -> None:
        while not self._ended.wait(min(1.0, self.every)):
            self.beat()


def _figures(figures: dict[str, object]) -> str:
    return "  ".join(f"{name} {printable(value)}" for name, value in figures.items())
