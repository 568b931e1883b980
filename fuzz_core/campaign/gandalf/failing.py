"""From a graph with which a library dies or fails to the operator that does it, in as small a graph as shows it."""

from __future__ import annotations

from fuzz_core.campaign.gandalf.culprits import smaller
from fuzz_core.campaign.gandalf.looking import PRECISIONS
from fuzz_core.campaign.gandalf.sides import Came, Sides
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.rendering import Precision
from fuzz_core.modelgen.gandalf.table import Library
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.triage.signature import signature


def first_failing(sides: Sides, graph: Graph, library: Library) -> int:
    """The node with which a library fails: of a graph's beginnings, which are graphs, the first that fails."""
    low, high = 0, len(graph.nodes) - 1
    while low < high:
        middle = (low + high) // 2
        came = [sides.run(_begun(graph, middle), precision, [library])[library] for precision in PRECISIONS]
        if any(isinstance(each, Outcome) for each in came):
            high = middle
        else:
            low = middle + 1
    return low


def smallest_failing(
    sides: Sides, graph: Graph, place: int, library: Library, outcome: Outcome
) -> tuple[Graph, Precision]:
    """The graph that ends with this node and fails in the same way, and a precision in which it does.

    outcome: how the whole failed. Where only the graph's beginning fails, in whatever way, it is that.
    """
    begun = _begun(graph, place)
    wanted = _fault(sides, library, outcome)
    for small in smaller(sides.table, begun, place):
        for precision in PRECISIONS:
            if _fault(sides, library, sides.run(small, precision, [library])[library]) == wanted:
                return small, precision
    failing = [each for each in PRECISIONS if isinstance(sides.run(begun, each, [library])[library], Outcome)]
    return begun, [*failing, *PRECISIONS][0]


def crash_of(sides: Sides, library: Library, outcome: Outcome) -> Verdict:
    """Whether it died or failed internally; what it refuses in words is no crash."""
    return oracle_of("crash").judge({"cpu": outcome}, sides.sides[library].session.dialect)


def _fault(sides: Sides, library: Library, came: Came) -> str:
    """What is one fault has one text; none where nothing is."""
    return signature("", crash_of(sides, library, came), came).text if isinstance(came, Outcome) else ""


def _begun(graph: Graph, place: int) -> Graph:
    return graph.model_copy(update={"nodes": graph.nodes[: place + 1]})
