"""From a graph about which libraries disagree to the operator that does it, in as small a graph as shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fuzz_core.campaign.gandalf.comparing import moderate
from fuzz_core.campaign.gandalf.looking import Disagreement, Runs, disagreements, drawn
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.execution.replay import Array
from fuzz_core.modelgen.gandalf.graph import Graph, Input, shaped, tensors_of
from fuzz_core.modelgen.gandalf.shapes import Tensor
from fuzz_core.modelgen.gandalf.surgery import above, apart
from fuzz_core.modelgen.gandalf.table import Operator

# So many draws of data are tried on an operator alone.
DRAWS = 3
# What there is in a graph, by name.
Tensors = Mapping[str, tuple[Tensor, Array]]


class Culprit(NamedTuple):
    """The last node of a graph, and what is wrong with it. place: which node of the whole graph that was.

    of: the variable whose gradient is wrong, where it is no result; see `again.training`.
    """

    graph: Graph
    told: Disagreement
    place: int
    of: str = ""


def culprit(sides: Sides, graph: Graph, runs: Runs) -> Culprit | None:
    """The first operator that is off by itself, on what it took in the graph; None where none is.

    Then it is the sum of many roundings that brings results apart, or a result that a nudge of the data moves as far.
    """
    tensors = taken(sides, graph, runs)
    places = sensible(graph, tensors)
    if not places:
        return None
    found = disagreements(sides, apart(graph, places, values_of(tensors)))
    if not found:
        return None
    first = min(found)
    place, told = places[first], found[first]
    for small in smaller(sides.table, graph, place):
        seen = disagreements(sides, small).get(len(small.nodes) - 1)
        if seen is not None and (seen.wrong, seen.precision) == (told.wrong, told.precision):
            return Culprit(small, seen, place)
    return Culprit(apart(graph, [place], values_of(tensors)), told, place)


def sensible(graph: Graph, tensors: Tensors) -> list[int]:
    """The nodes that take elements, all of a size that somebody may compute with."""
    taken = [[tensors[name][1] for name in node.takes] for node in graph.nodes]
    return [place for place, each in enumerate(taken) if moderate(each) and all(array.size for array in each)]


def values_of(tensors: Tensors) -> dict[str, tuple[Tensor, list[float]]]:
    """The same with their elements in order."""
    return {name: (tensor, array.ravel().tolist()) for name, (tensor, array) in tensors.items()}


def taken(sides: Sides, graph: Graph, runs: Runs) -> Tensors:
    """Every tensor of the graph, as the first library has it in double precision."""
    results = next(iter(runs.double.values()))
    arrays = {f"x{place}": drawn(each) for place, each in enumerate(graph.inputs)}
    arrays |= {f"n{place}": results[place] for place in range(len(graph.nodes))}
    return {name: (tensor, arrays[name]) for name, tensor in tensors_of(graph, shaped(graph, sides.table)).items()}


def smaller(table: Mapping[str, Operator], graph: Graph, place: int) -> Iterator[Graph]:
    """Graphs whose data is drawn, which makes short scripts: the operator alone, and all that it depends on."""
    node, tensors = graph.nodes[place], tensors_of(graph, shaped(graph, table))
    alone = node.model_copy(update={"takes": tuple(f"x{role}" for role in range(len(node.takes)))})
    for seed in range(DRAWS):
        inputs = [
            Input.model_validate({**tensors[name]._asdict(), "seed": seed * len(node.takes) + role})
            for role, name in enumerate(node.takes)
        ]
        yield Graph(inputs=tuple(inputs), nodes=(alone,))
    yield above(graph, place)
