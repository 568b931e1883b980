"""Work on many things at once, within a time-box and until the user stops it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from fuzz_core.campaign.session import Session

GRACE_SECONDS = 5.0
T = TypeVar("T")
R = TypeVar("R")


def abreast(
    session: Session,
    threads: ThreadPoolExecutor,
    items: Sequence[T],
    work: Callable[[T], R],
    deadline: float | None = None,
    reserve: Callable[[T], float] = lambda item: 0.0,
) -> Iterator[tuple[T, R]]:
    """Items with what came of them, as they are done; nothing waits in a queue, so that a deadline bites.

    `reserve`: about what an item takes, in seconds: begun later, it would outlast the time-box. What is under way
    shortly after the deadline is not waited for: the caller ends it.
    """
    waiting = deque(items)
    running: dict[Future[R], T] = {}

    def over(seconds: float) -> bool:
        return session.stopped() or (deadline is not None and session.clock() >= deadline - seconds)

    while True:
        while waiting and len(running) < session.workers and not over(reserve(waiting[0])):
            item = waiting.popleft()
            running[threads.submit(work, item)] = item
        if not running or over(-GRACE_SECONDS):
            return
        done, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
        for future in done:
            yield running.pop(future), future.result()
