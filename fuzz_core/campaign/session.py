"""The state that all phases of a campaign share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Protocol, TypeVar

from fuzz_core.adapters.dialect import Dialect, dialect_of
from fuzz_core.campaign.watch import Watch
from fuzz_core.store.records import TargetRecord
from fuzz_core.store.statefile import now
from fuzz_core.store.store import Store

GRACE_SECONDS = 5.0
# A killed run has saved its figures this many seconds before, at most.
EVERY = 10.0
T = TypeVar("T")
R = TypeVar("R")


@dataclass
class Session:
    """A target under work.

    `stopped` turns true when the user interrupts; `clock` is monotonic seconds.
    """

    store: Store
    target: TargetRecord
    state_dir: Path
    workers: int = 2
    watch: Watch = field(default_factory=Watch)
    stopped: Callable[[], bool] = lambda: False
    clock: Callable[[], float] = time.monotonic
    # The wall clock at its start, which separates the bugs of this session from older ones in the report.
    began: datetime = field(default_factory=now)

    def __post_init__(self) -> None:
        self.clock = steady_clock(self.clock)

    def is_over(self, deadline: float | None, reserve: float = 0.0) -> bool:
        """Return whether the user has stopped the session, or under `reserve` seconds are left until the deadline."""
        return self.stopped() or (deadline is not None and self.clock() >= deadline - reserve)

    def left(self, deadline: float | None) -> float | None:
        """Return the seconds until a deadline; None without one."""
        return None if deadline is None else max(deadline - self.clock(), 0.0)

    @property
    def dialect(self) -> Dialect:
        """The dialect of the target's library."""
        return dialect_of(self.target.library)


def steady_clock(clock: Callable[[], float]) -> Callable[[], float]:
    """Return a clock that goes on from its last time if the given clock is set back, so that no time-box grows."""
    last, lost = clock(), 0.0

    def reading() -> float:
        nonlocal last, lost
        now = clock()
        lost += max(0.0, last - now)
        last = now
        return now + lost

    return reading


class Figures(Protocol):
    """Figures that each engine has of its run."""

    seconds: float  # wall time spent fuzzing

    @property
    def tests(self) -> int:
        """Test cases executed."""

    def summary(self) -> dict[str, Any]:
        """Return the figures as JSON data."""


class Run:
    """A run of a session, on record from its first second on."""

    def __init__(self, session: Session, seed: int, options: Mapping[str, Any]) -> None:
        self.session = session
        self.number = session.store.start_run(session.target.key, seed, options)
        self.told = 0.0

    def tell(self, figures: Figures, at_once: bool = False) -> None:
        """Put on record how far it has come, now and then."""
        if at_once or figures.seconds >= self.told + EVERY:
            self.told = figures.seconds
            self.session.store.checkpoint_run(self.number, figures.tests, figures.seconds)

    def end(self, figures: Figures) -> None:
        """Put on record how it ended."""
        self.tell(figures, at_once=True)
        status = "interrupted" if self.session.stopped() else "done"
        self.session.store.finish_run(self.number, status, figures.summary())


def run_parallel(
    session: Session,
    threads: ThreadPoolExecutor,
    items: Iterable[T],
    work: Callable[[T], R],
    deadline: float | None = None,
    reserve: Callable[[T], float] = lambda item: 0.0,
) -> Iterator[tuple[T, R]]:
    """Yield each item with its result as soon as the result is there.

    No item waits in a queue of the threads, so that a deadline takes effect. Work that still runs shortly after the
    deadline, or when the user stops, is not waited for: the caller ends it.

    Args:
        deadline: clock time after which no item begins.
        reserve: about the seconds that an item takes: at the first that would outlast the deadline, no more begin.
    """
    beginning = takewhile(lambda item: not session.is_over(deadline, reserve(item)), items)
    running: dict[Future[R], T] = {}
    while True:
        for item in islice(beginning, session.workers - len(running)):
            running[threads.submit(work, item)] = item
        if not running or session.is_over(deadline, -GRACE_SECONDS):
            return
        done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in done:
            yield running.pop(future), future.result()
