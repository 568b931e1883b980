"""Graphs judged side by side by several sets of processes: each is executed in all libraries, each probe asked.

Equation 3 of Gandalf (section 4.3) rewards each selection of an operator by the result of that operator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import combinations, count
from math import isfinite
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.disagreement import BOUNDS, error, suspicious
from fuzz_core.campaign.gandalf.figures import GandalfOptions, GandalfReport
from fuzz_core.campaign.gandalf.finding import Finding, beginning, crashes, finding, first_failing
from fuzz_core.campaign.gandalf.probe import Fault, GradientProbe
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.search import FaultSearch
from fuzz_core.campaign.gandalf.sides import DOUBLE, PRECISIONS, Runs, Sides, results_at
from fuzz_core.execution.replay import Array
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.guidance import Pair
from fuzz_core.modelgen.gandalf.public_names import is_formula
from fuzz_core.modelgen.gandalf.table import Domain, Library

# How often a graph that agrees is trained as well, and compiled, which takes as long as all else together.
TRAINED, COMPILED = 0.5, 0.125
# The largest distance, which results of different shapes have, for instance.
MOST_DISTANCE = 1.0
# So many graphs for each set are made before the first of them is settled: a slow graph delays no other graph.
AHEAD = 4
# More nodes than a graph has.
MANY = 1 << 20


def judge(sides: Sides, graph: Graph, domain: str, report: GandalfReport, asks: Asks) -> list[tuple[Library, Finding]]:
    """Execute a graph everywhere, and return what is wrong with it in which library.

    Args:
        asks: the relations that the graph is asked if all libraries agree.
    """
    report.graphs[domain] += 1
    report.operators.update(graph.operators)
    found = _findings(sides, graph, report, asks)
    if found:
        report.effective[domain] += 1
        report.known.update(
            f"{library} {each.test.invocation.api}: {each.known}" for library, each in found if each.known
        )
        report.new.update(f"{library} {each.test.invocation.api}" for library, each in found if not each.known)
        report.symptoms.update((domain, each.symptom) for _, each in found)
        report.models.append((domain, graph.operators))
    return found


def _findings(sides: Sides, graph: Graph, report: GandalfReport, asks: Asks) -> list[tuple[Library, Finding]]:
    runs = sides.runs(graph)
    if isinstance(runs, Runs):
        report.worth = rewards(graph, runs, asks.rewarded) if asks.rewarded else []
        report.operator_outcomes.note(graph, set(sides.sides), {})
        return compare(FaultSearch(sides, graph, runs, report), asks)
    places = {library: first_failing(sides, graph, library) for library in runs}
    found = list(crashes(sides, graph, runs, places, report.refused))
    # Libraries that did not fail may have run the graph in one precision alone.
    report.operator_outcomes.note(graph, set(places), places, crashed=bool(found))
    if found:
        report.worth = crash_rewards(graph, sorted(places.values()), asks.rewarded) if asks.rewarded else []
        return found
    # A fault in an earlier node may be the reason why a library refuses this one.
    begun = beginning(graph, min(places.values()))
    runs = sides.runs(begun) if begun.nodes else {}
    return compare(FaultSearch(sides, begun, runs, report), asks) if isinstance(runs, Runs) else []


def compare(search: FaultSearch, asks: Asks) -> list[tuple[Library, Finding]]:
    """Return what is wrong with a graph that all libraries gave results for.

    Args:
        asks: see `judge`.
    """
    sides, graph, report = search.sides, search.graph, search.report
    if suspicious(search.runs, sides.precisions(graph)):
        fault = search.results()
        if fault is None or overflows(sides, fault):
            report.rounded += 1
            return []
        return [finding(sides, graph, fault)]
    rng = Rng(derive("relations", graph.operators, graph.model_dump_json()))
    asks = asks.within(len(graph.nodes))
    faults = [*search.rewritten(asks)]
    crashed = [*search.rewriting_crashes(asks)]
    if asks.further:
        faults += search.row_by_row(rng)
        if rng.chance(COMPILED):
            faults += search.compiled(rng.choice(PRECISIONS))
        faults += search.losses()
    report.hits.update(each.probe.name for each in faults)
    found = [*crashed, *(finding(sides, graph, each) for each in faults)]
    return [*found, *_trained(search)] if asks.further and rng.chance(TRAINED) else found


def _trained(search: FaultSearch) -> list[tuple[Library, Finding]]:
    """Train the graph without constant weights: if all elements are equal, the largest has no unique gradient."""
    sides, report = search.sides, search.report
    probe = GradientProbe(sides)
    nodes = tuple(each.model_copy(update={"constants": ()}) for each in search.graph.nodes)
    search = FaultSearch(sides, search.graph.model_copy(update={"nodes": nodes}), search.runs, report)
    gradients = probe.runs(search.graph)
    if not isinstance(gradients, Runs):
        return list(search.training_crashes(gradients))
    report.relations[probe.name] += 1
    fault = search.gradients(gradients)
    if fault is None or overflows(sides, fault):
        return []
    report.hits[probe.name] += 1
    return [finding(sides, search.graph, fault)]


def overflows(sides: Sides, fault: Fault) -> bool:
    """Return whether there is no number because the table's own formula has none in between."""
    wrong, operator = fault.wrong, sides.table[fault.graph.nodes[-1].operator]
    return not isfinite(wrong.seen) and is_formula(operator.spelled[wrong.wrong], wrong.wrong)


def rewards(graph: Graph, runs: Runs, options: GandalfOptions) -> list[float]:
    """Return the reward of each node of a graph that all libraries have computed."""
    mean = mean_input_magnitude(graph)
    return [_metric(results_at(runs.double, place), mean, options) for place in range(len(graph.nodes))]


def crash_rewards(graph: Graph, places: Sequence[int], options: GandalfOptions) -> list[float]:
    """Return the reward of each node of a graph with which a library fails.

    Args:
        places: the nodes with which libraries fail.
    """
    return [
        options.gamma * mean_input_magnitude(graph) if place in places else 0.0 for place in range(len(graph.nodes))
    ]


def mean_input_magnitude(graph: Graph) -> float:
    """Return m_d: the mean magnitude of the input data."""
    sizes = [np.abs(each.array.astype(np.float64)).ravel() for each in graph.inputs]
    every = np.concatenate(sizes) if sizes else np.empty(0)
    return float(every.mean()) if every.size else 0.0


def of_choices(chosen: Sequence[Pair], operators: Sequence[str], worth: Sequence[float]) -> list[float]:
    """Return the reward of each choice; a choice that became no node has 0.

    Args:
        operators: the operators of the nodes, in order.
        worth: the rewards of the nodes, in order.
    """
    found, place = [0.0] * len(chosen), 0
    for number, (_, name) in enumerate(chosen):
        if place < min(len(operators), len(worth)) and operators[place] == name:
            found[number] = worth[place]
            place += 1
    return found


def _metric(results: Mapping[Library, Array], mean: float, options: GandalfOptions) -> float:
    if not all(np.isfinite(each.astype(np.float64)).all() for each in results.values()):
        return options.delta * mean
    distances = [error(results[one], results[other]) for one, other in combinations(results, 2)]
    distance = min(max(distances, default=0.0), MOST_DISTANCE)
    confidence = sum(each > BOUNDS[DOUBLE] for each in distances) / max(len(distances), 1)
    return options.beta * distance * confidence


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
