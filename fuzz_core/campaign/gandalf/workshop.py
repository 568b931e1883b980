"""Graphs executed side by side by several sets of processes, and settled in the order in which they were made."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from queue import SimpleQueue
from typing import NamedTuple

from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.gandalf.finding import Finding
from fuzz_core.campaign.gandalf.judge import judge
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.guidance import Pair
from fuzz_core.modelgen.gandalf.table import Domain, Library

# So many graphs for each set are made before the first of them is settled: one that takes long holds up no other.
AHEAD = 4
# More nodes than a graph has.
MANY = 1 << 20


class Drawn(NamedTuple):
    """A graph to be executed. chosen: how a guidance made it. trap: whether one of its structure was there before.

    asks: the relations that it is asked. own: how many nodes guidance chose, before those that stand beside them.
    """

    domain: Domain
    graph: Graph
    chosen: list[Pair]
    asks: Asks
    trap: bool = False
    own: int = MANY


class Judged(NamedTuple):
    """What became of a graph, as it was drawn."""

    found: list[tuple[Library, Finding]]
    report: GandalfReport
    drawn: Drawn


class Workshop:
    """Sets of processes, each of all libraries. stopped: whether the user has asked to stop, which ends them all."""

    def __init__(self, every: Sequence[Sides], stopped: Callable[[], bool]) -> None:
        self.stopped = stopped
        self.free: SimpleQueue[Sides] = SimpleQueue()
        for each in every:
            self.free.put(each)
        self.ahead = AHEAD * len(every) if len(every) > 1 else 1
        self.threads = ThreadPoolExecutor(len(every), "graphs")

    def __call__(self, graphs: Iterator[Drawn], most: int | None, over: Callable[[], bool]) -> Iterator[Judged]:
        """What becomes of the graphs, in order, of `most` at the most.

        over: whether it has to end now, asked before each one is made; those that have not begun then are left out.

        As each is made when a fixed number is not settled yet, the stream does not depend on how long any takes.
        """
        waiting: deque[Future[Judged]] = deque()
        for _ in count() if most is None else range(most):
            if over():
                break
            waiting.append(self.threads.submit(self._judged, next(graphs)))
            if len(waiting) >= self.ahead:
                yield waiting.popleft().result()
        while waiting:
            each = waiting.popleft()
            if not (over() and each.cancel()):
                yield each.result()

    def close(self) -> None:
        """Waits for what has begun."""
        self.threads.shutdown(cancel_futures=True)

    def _judged(self, drawn: Drawn) -> Judged:
        sides, report = self.free.get(), GandalfReport()
        try:
            found = judge(sides, drawn.graph, drawn.domain, report, drawn.asks)
            # A process that has been ended tells nothing of its library.
            return Judged([] if self.stopped() else found, report, drawn)
        finally:
            self.free.put(sides)
