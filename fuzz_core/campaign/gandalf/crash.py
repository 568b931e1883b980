"""From a graph with which a library dies or fails to the operator that does it, in as small a graph as shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from fuzz_core.campaign.gandalf.finding import Finding, crash, crash_verdict
from fuzz_core.campaign.gandalf.probe import smaller
from fuzz_core.campaign.gandalf.sides import PRECISIONS, Answer, Sides
from fuzz_core.ir.outcome import Outcome
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.renderer import written
from fuzz_core.modelgen.gandalf.scripts import printing
from fuzz_core.modelgen.gandalf.table import Library, Precision
from fuzz_core.triage.signature import signature


def first_failing(sides: Sides, graph: Graph, library: Library) -> int:
    """Return the node with which a library fails: the last node of the graph's shortest beginning that fails."""
    low, high = 0, len(graph.nodes) - 1
    while low < high:
        middle = (low + high) // 2
        answers = [sides.run(beginning(graph, middle + 1), each, [library])[library] for each in PRECISIONS]
        if any(isinstance(each, Outcome) for each in answers):
            high = middle
        else:
            low = middle + 1
    return low


def crashes(
    sides: Sides, graph: Graph, ended: Mapping[Library, Outcome], places: Mapping[Library, int], refused: Counter[str]
) -> Iterator[tuple[Library, Finding]]:
    """Yield the crashes and internal errors; count mere refusals, by library and operator.

    Args:
        places: the nodes with which libraries fail, see `first_failing`.
    """
    for library, outcome in ended.items():
        place = places[library]
        if not is_crash(sides, library, outcome):
            refused[f"{library} {graph.nodes[place].operator}"] += 1
            continue
        small, precision = _smallest(sides, graph, place, library, outcome)
        script = printing(written(small, sides.table, library, precision), f"n{len(small.nodes) - 1}.numpy()")
        yield crash(sides, graph, place, library, script, outcome)


def is_crash(sides: Sides, library: Library, outcome: Outcome) -> bool:
    """Return whether a library died or failed internally."""
    return outcome.kind != "timeout" and not crash_verdict(sides, library, outcome).clean


def beginning(graph: Graph, nodes: int) -> Graph:
    """Return the graph of so many first nodes."""
    return graph.model_copy(update={"nodes": graph.nodes[:nodes]})


def _smallest(sides: Sides, graph: Graph, place: int, library: Library, outcome: Outcome) -> tuple[Graph, Precision]:
    """Return the smallest graph that ends with this node and fails in the same way, and a precision in which it fails.

    If no smaller graph fails in the same way, return the graph's beginning.

    Args:
        outcome: how the whole graph failed.
    """
    whole = beginning(graph, place + 1)
    wanted = _fault(sides, library, outcome)
    for small in smaller(sides.table, whole, place):
        for precision in PRECISIONS:
            if _fault(sides, library, sides.run(small, precision, [library])[library]) == wanted:
                return small, precision
    failing = [each for each in PRECISIONS if isinstance(sides.run(whole, each, [library])[library], Outcome)]
    return whole, [*failing, *PRECISIONS][0]


def _fault(sides: Sides, library: Library, answer: Answer) -> str:
    """Return a text that is equal for equal faults; empty for results."""
    if not isinstance(answer, Outcome):
        return ""
    return signature("", crash_verdict(sides, library, answer), answer).text
