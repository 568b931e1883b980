"""The status of a command: its phase, its figures, its workers and its notes, kept in a file beside the state.

The screen of the command and `nightfuzz watch` show the same snapshots.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from fuzz_core.campaign.watch import Watch, Work
from fuzz_core.cli.streams import printable
from fuzz_core.ir.errors import UserError
from fuzz_core.ir.files import write_whole

STATUS_FILE = "status.json"
STARTING = "starting"  # the first phase of every command
WRITE_SECONDS = 1.0
# The figures that count new behaviour, the most telling first.
NOVELTY = ("classes", "apis")
# A series has at most so many intervals. When it is full, two neighbours become one.
MOST_INTERVALS = 48
FIRST_INTERVAL = 1.0
KEPT_NOTES = 20
# The pace of a phase is that of the last part of its time.
RECENT = 0.5
MOST_SAMPLES = 256


class Display(Watch):
    """A watch that a person sees while its context is open."""

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *error: Any) -> None:
        """End the display."""


class WorkerStatus(BaseModel, frozen=True):
    """The work of one worker, and its seconds so far."""

    what: str
    seconds: float


class StatusSnapshot(BaseModel, frozen=True):
    """The status of a command at a moment.

    Times are in seconds.
    """

    title: str
    written: datetime
    elapsed: float
    box: float | None  # time-box of the command
    phase: str
    spent: float  # time since the phase began
    done: float
    total: float  # in the unit of `done`, 0 if unknown
    left: float | None  # time until the phase ends, if it can be told
    figures: dict[str, str]
    novelty: tuple[float, ...]  # new behaviour in each interval of the phase
    interval: float
    workers: tuple[WorkerStatus, ...]
    notes: tuple[str, ...]  # the last ones
    noted: int  # how many there were in all
    ended: bool = False


class Series:
    """How much a count has grown in each interval since a beginning, in at most 48 intervals."""

    def __init__(self) -> None:
        self.interval = FIRST_INTERVAL
        self.grown: list[float] = []
        self._before: float | None = None

    def add(self, at: float, count: float) -> None:
        """Take the count at a time, in seconds since the beginning.

        The first one is where growth begins.
        """
        if self._before is None:
            self._before = count
        while at >= self.interval * MOST_INTERVALS:
            pairs = zip(self.grown[::2], [*self.grown[1::2], 0.0], strict=False)
            self.grown = [first + second for first, second in pairs]
            self.interval *= 2
        place = int(at / self.interval)
        self.grown += [0.0] * (place + 1 - len(self.grown))
        self.grown[place] += max(count - self._before, 0.0)
        self._before = count


class Pace:
    """How fast a phase goes on, by the last half of its time.

    Args:
        total: how much is done at the end, 0 if unknown.
        within: seconds after which the phase ends in any case.
    """

    def __init__(self, total: float = 0.0, within: float | None = None) -> None:
        self.total, self.within = total, within
        self._samples: deque[tuple[float, float]] = deque(maxlen=MOST_SAMPLES)

    def add(self, at: float, done: float) -> None:
        """Take how much is done at a time."""
        if not self._samples or done != self._samples[-1][1]:
            self._samples.append((at, done))

    def left(self, at: float) -> float | None:
        """Return the seconds until the phase ends; None while they are unknown.

        A phase with a total needs two samples: its first sample may have waited for a process to start. A phase that
        has outlasted its limit finishes pieces whose length is unknown.
        """
        if self.within is not None and at > self.within:
            return None
        paced = self._paced(at)
        if paced is None and self.total > 0:
            return None
        ends = [each for each in (paced, None if self.within is None else self.within - at) if each is not None]
        return max(min(ends), 0.0) if ends else None

    def _paced(self, at: float) -> float | None:
        if not self._samples or self.total <= 0:
            return None
        last, done = self._samples[-1]
        since, before = next((sample for sample in self._samples if sample[0] >= last * (1 - RECENT)), self._samples[0])
        if done <= before or last <= since:
            return None
        pace, waited = (last - since) / (done - before), at - last
        if waited <= pace:
            return (self.total - done) * pace - waited
        # The next piece takes longer than those before. If it ended now, this would be the pace.
        return (self.total - done - 1) * (at - since) / (done + 1 - before)


class Status(Watch):
    """The status of a command; a silent watch.

    Args:
        box: seconds of the command's time-box.
        clock: monotonic seconds.
        wall: the time of day.
    """

    def __init__(
        self,
        title: str = "nightfuzz",
        box: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.title, self.box = title, box
        self.clock, self.wall = clock, wall
        self.began = clock()
        self.notes: deque[str] = deque(maxlen=KEPT_NOTES)
        self.noted = 0
        self.phase(STARTING)

    def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None:
        """Begin a phase: figures, workers and series begin anew."""
        self.name, self.total, self.done = name, total, 0.0
        self.pace = Pace(total, within)
        self.since = self.clock()
        self.figures: dict[str, str] = {}
        self.workers: tuple[Work, ...] = ()
        self.series = Series()

    def advance(self, done: float, **figures: object) -> None:
        """Note how far the phase is."""
        spent = self.clock() - self.since
        self.done = done
        self.figures = {
            name: f"{value:,}" if isinstance(value, int) else printable(value) for name, value in figures.items()
        }
        self.pace.add(spent, done)
        for name in NOVELTY:
            if isinstance(count := figures.get(name), int):
                self.series.add(spent, count)
                break

    def limit(self, seconds: float) -> None:
        """Note when the phase ends at the latest."""
        self.pace.within = self.clock() - self.since + seconds

    def work(self, places: Sequence[Work]) -> None:
        """Note what the workers do."""
        self.workers = tuple(places)

    def note(self, text: str) -> None:
        """Keep a note."""
        self.notes.append(printable(text))
        self.noted += 1

    def snapshot(self, ended: bool = False) -> StatusSnapshot:
        """Return the status at this moment."""
        now = self.clock()
        spent = now - self.since
        return StatusSnapshot(
            title=self.title,
            written=self.wall(),
            elapsed=now - self.began,
            box=self.box,
            phase=printable(self.name),
            spent=spent,
            done=self.done,
            total=self.total,
            left=self.pace.left(spent),
            figures=self.figures,
            novelty=tuple(self.series.grown),
            interval=self.series.interval,
            workers=tuple(WorkerStatus(what=printable(each.what), seconds=now - each.since) for each in self.workers),
            notes=tuple(self.notes),
            noted=self.noted,
            ended=ended,
        )


class StatusWatch(Watch):
    """The watch of a command: it keeps the status, shows it on a display, and writes it to a file; a context manager.

    The file is written at most once a second. A directory that cannot be written to has no such file, and no
    command fails for that.

    Args:
        display: shows progress to a person.
        path: the file; None for a command without a state.
    """

    def __init__(self, status: Status, display: Display, path: Path | None = None) -> None:
        self.status, self.display, self.path = status, display, path
        self._written = status.clock()

    def __enter__(self) -> StatusWatch:
        self.display.__enter__()
        self._write()
        return self

    def __exit__(self, *error: Any) -> None:
        self._write(ended=True)
        self.display.__exit__(*error)

    def phase(self, name: str, total: float = 0.0, within: float | None = None) -> None:
        """Begin a phase."""
        self.status.phase(name, total, within)
        self.display.phase(name, total, within)
        self._write()

    def advance(self, done: float, **figures: object) -> None:
        """Note how far the phase is."""
        self.status.advance(done, **figures)
        self.display.advance(done, **figures)
        if self.status.clock() - self._written >= WRITE_SECONDS:
            self._write()

    def limit(self, seconds: float) -> None:
        """Note when the phase ends at the latest."""
        self.status.limit(seconds)
        self.display.limit(seconds)

    def work(self, places: Sequence[Work]) -> None:
        """Note what the workers do."""
        self.status.work(places)
        self.display.work(places)

    def note(self, text: str) -> None:
        """Keep a note."""
        self.status.note(text)
        self.display.note(text)
        self._write()

    def _write(self, ended: bool = False) -> None:
        self._written = self.status.clock()
        if self.path is not None:
            with suppress(OSError):
                write_whole(self.path, self.status.snapshot(ended).model_dump_json())


def read_status(path: Path) -> StatusSnapshot:
    """Return the last snapshot in a file.

    Raises:
        UserError: there is none that can be read.
    """
    try:
        return StatusSnapshot.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(
            f"cannot read {path}: no run has written its status in {path.parent}",
            "start `nightfuzz run`, or name the state directory of the run with --state DIR",
        ) from error
    except ValidationError as error:
        raise UserError(
            f"{path} is not a status that this version of nightfuzz can read", "start `nightfuzz run` again"
        ) from error
