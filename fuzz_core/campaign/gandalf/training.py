"""A step of training in several libraries: the gradients of the same loss (beyond the paper)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from fuzz_core.campaign.gandalf.culprits import Culprit, sensible, smaller, taken, values_of
from fuzz_core.campaign.gandalf.failing import crash_of
from fuzz_core.campaign.gandalf.looking import (
    DOUBLE,
    SINGLE,
    Disagreement,
    Runs,
    failed,
    found_in,
    precisions,
    results_of,
    shaken,
    suspicious,
)
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.ir.outcome import Outcome
from fuzz_core.modelgen.gandalf.again import losing, training, variables
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.rendering import Precision
from fuzz_core.modelgen.gandalf.scripts import printing
from fuzz_core.modelgen.gandalf.surgery import apart
from fuzz_core.modelgen.gandalf.table import Library


class Deadly(NamedTuple):
    """The last node of a graph, with whose training a library dies or fails internally, and the program that shows it.

    place: which node of the whole graph that was.
    """

    graph: Graph
    library: Library
    outcome: Outcome
    program: str
    place: int


def varied(graph: Graph) -> Graph:
    """The graph without constant weights: where all are equal, the gradient of the largest is a matter of taste."""
    return graph.model_copy(update={"nodes": tuple(each.model_copy(update={"constants": ()}) for each in graph.nodes)})


def trained(sides: Sides, graph: Graph) -> Runs | dict[Library, Outcome]:
    """Gradients by the place of their variable, see `again.variables`; how those ended that have none.

    In double precision alone: what rounds too much does so in the results as well.
    """
    names = variables_of(sides, graph)
    came = sides.trained(graph, DOUBLE, names) if names else {}
    results = results_of(came)
    return failed(came) or (Runs(results, results) if came else {})


def mistrained(sides: Sides, graph: Graph, runs: Runs, gradients: Runs) -> Culprit | None:
    """The first operator whose gradient is off by itself, where those of the graph are apart; None where none is.

    runs: what the graph came to.
    """
    if not suspicious(gradients, _best(sides, graph, gradients)):
        return None
    for place, alone in _apart(sides, graph, runs):
        # Alone, as one that has no gradient leaves the others theirs.
        if (told := _wrong(sides, alone)) is not None:
            graphs = smaller(sides.table, graph, place)
            return _shown(sides, graphs, Culprit(alone, told[1], place, told[0]))
    return None


def deadly(
    sides: Sides, graph: Graph, runs: Runs, came: Mapping[Library, Outcome], skipped: Counter[str]
) -> Iterator[Deadly]:
    """Of libraries that gave no gradients, those that died of one operator; the others are counted."""
    for library, outcome in came.items():
        if not _fatal(sides, library, outcome):
            skipped.update([f"{library} training"])
            continue
        for place, alone in _apart(sides, graph, runs):
            names = variables_of(sides, alone)
            seen = sides.trained(alone, DOUBLE, names, [library])[library] if names else None
            if isinstance(seen, Outcome) and _fatal(sides, library, seen):
                lines = training(alone, sides.table, library, DOUBLE, names)
                program = printing(lines, "[None if each is None else each.numpy() for each in gradients]")
                yield Deadly(alone, library, seen, program, place)
                break


def variables_of(sides: Sides, graph: Graph) -> list[str]:
    """What a graph can be trained on in all libraries."""
    return variables(graph, sides.table, list(sides.sides)) if losing(graph, sides.table) else []


def _apart(sides: Sides, graph: Graph, runs: Runs) -> Iterator[tuple[int, Graph]]:
    tensors = taken(sides, graph, runs)
    for place in sensible(graph, tensors):
        yield place, apart(graph, [place], values_of(tensors))


def _fatal(sides: Sides, library: Library, outcome: Outcome) -> bool:
    return outcome.kind != "timeout" and not crash_of(sides, library, outcome).clean


def _shown(sides: Sides, graphs: Iterable[Graph], found: Culprit) -> Culprit:
    """The same in the first of these graphs that shows it."""
    for each in graphs:
        told = _wrong(sides, each)
        if told is not None and told[1].wrong == found.told.wrong:
            return Culprit(each, told[1], found.place, told[0])
    return found


def _wrong(sides: Sides, graph: Graph) -> tuple[str, Disagreement] | None:
    """The first variable whose gradient libraries disagree about, by more than a nudge of the data explains."""
    names, came = variables_of(sides, graph), trained(sides, graph)
    if not isinstance(came, Runs) or failed(moved := sides.trained(shaken(graph), DOUBLE, names)):
        return None
    shaken_ = results_of(moved)
    found = found_in(came, Runs(shaken_, shaken_), _best(sides, graph, came))
    return (names[min(found)], found[min(found)]) if found else None


def _best(sides: Sides, graph: Graph, came: Runs) -> dict[int, Precision]:
    """By variable, of those of which every library has a gradient, the precision that all nodes have."""
    least = SINGLE if SINGLE in precisions(sides, graph).values() else DOUBLE
    every = [set(each) for results in came for each in results.values()]
    return dict.fromkeys(sorted(set.intersection(*every)), least)
