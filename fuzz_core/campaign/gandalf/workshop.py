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

# So many graphs for each set are made before the first of them is settled: a slow graph delays no other graph.
AHEAD = 4
# More nodes than a graph has.
MANY = 1 << 20


class DrawnGraph(NamedTuple):
    """A graph to be executed."""

    domain: Domain
    graph: Graph
    chosen: list[Pair]  # the choices of the guidance that made it
    asks: Asks  # the relations that it is asked
    trap: bool = False  # whether an earlier graph had its structure
    own: int = MANY  # number of nodes that guidance chose; further nodes stand beside them


class JudgedGraph(NamedTuple):
    """A drawn graph with its findings and the figures of its execution."""

    found: list[tuple[Library, Finding]]
    report: GandalfReport
    drawn: DrawnGraph


class GraphWorkshop:
    """Sets of processes, each of all libraries.

    Args:
        stopped: whether the user has asked to stop, which ends all processes.
    """

    def __init__(self, every: Sequence[Sides], stopped: Callable[[], bool]) -> None:
        self.stopped = stopped
        self.free: SimpleQueue[Sides] = SimpleQueue()
        for each in every:
            self.free.put(each)
        self.ahead = AHEAD * len(every) if len(every) > 1 else 1
        self.threads = ThreadPoolExecutor(len(every), "graphs")

    def __call__(
        self, graphs: Iterator[DrawnGraph], most: int | None, over: Callable[[], bool]
    ) -> Iterator[JudgedGraph]:
        """Yield the results of graphs, in order, at most `most` of them.

        A graph is made when a fixed number of graphs is not settled yet. So the stream does not depend on how long any
        takes.

        Args:
            over: whether to end now, asked before each graph is made; graphs that have not begun then are left out.
        """
        waiting: deque[Future[JudgedGraph]] = deque()
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
        """Wait for what has begun."""
        self.threads.shutdown(cancel_futures=True)

    def _judged(self, drawn: DrawnGraph) -> JudgedGraph:
        sides, report = self.free.get(), GandalfReport()
        try:
            found = judge(sides, drawn.graph, drawn.domain, report, drawn.asks)
            # A process that has been ended says little about its library.
            return JudgedGraph([] if self.stopped() else found, report, drawn)
        finally:
            self.free.put(sides)
