"""Work on many items at once, with a deadline and until the user stops it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice, takewhile
from typing import Generic, TypeVar

from fuzz_core.campaign.session import Session

GRACE_SECONDS = 5.0
T = TypeVar("T")
R = TypeVar("R")


def run_parallel(
    session: Session,
    threads: ThreadPoolExecutor,
    items: Iterable[T],
    work: Callable[[T], R],
    deadline: float | None = None,
    reserve: Callable[[T], float] = lambda item: 0.0,
) -> Iterator[tuple[T, R]]:
    """Yields each item with its result as soon as the result is there.

    Work that still runs shortly after the deadline, or when the user stops, is not waited for: the caller ends it.

    Args:
        deadline: clock time after which no item begins.
        reserve: about the seconds that an item takes: an item that would outlast the deadline does not begin.
    """
    return results_of(
        session.workers,
        threads,
        items,
        work,
        may_begin=lambda item: not session.is_over(deadline, reserve(item)),
        may_wait=lambda: not session.is_over(deadline, -GRACE_SECONDS),
    )


def results_of(
    workers: int,
    threads: ThreadPoolExecutor,
    items: Iterable[T],
    work: Callable[[T], R],
    may_begin: Callable[[T], bool],
    may_wait: Callable[[], bool] = lambda: True,
) -> Iterator[tuple[T, R]]:
    """Yields each item with its result; no item waits in a queue of the threads, so that a deadline takes effect.

    Args:
        may_begin: whether this item may begin now; the first refusal is the end of the items.
        may_wait: whether results of running work are still wanted.
    """
    beginning = takewhile(may_begin, items)
    running: dict[Future[R], T] = {}
    while True:
        for item in islice(beginning, workers - len(running)):
            running[threads.submit(work, item)] = item
        if not running or not may_wait():
            return
        done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in done:
            yield running.pop(future), future.result()


class PerThread(Generic[T]):
    """One object for each thread, made when a thread asks for it first."""

    def __init__(self, make: Callable[[], T]) -> None:
        self.make = make
        self.local = threading.local()

    def get(self) -> T:
        """The object of this thread."""
        if not hasattr(self.local, "made"):
            self.local.made = self.make()
        made: T = self.local.made
        return made
