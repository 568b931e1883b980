"""Losses of precision: operators whose double precision is only as good as single precision in some library."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from fuzz_core.campaign.gandalf.comparing import error
from fuzz_core.campaign.gandalf.culprits import Culprit, sensible, smaller, taken
from fuzz_core.campaign.gandalf.looking import DOUBLE, LOSS, Runs, loss_in, results_of, shaken
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.modelgen.gandalf.graph import Graph

# So many nodes of a graph are asked: what follows a loss is apart as well.
ASKED = 2
NAME = "double precision"


def lost(sides: Sides, graph: Graph, runs: Runs, exercised: Counter[str]) -> list[Culprit]:
    """The operators of a graph that lose precision on drawn data. Nodes whose results agree closely are not asked."""
    first, *others = runs.double.values()
    tensors = taken(sides, graph, runs)
    apart = (
        place
        for place in sensible(graph, tensors)
        if any(error(first[place], other[place]) > LOSS for other in others)
        and not set(sides.table[graph.nodes[place].operator].single) & set(sides.sides)
    )
    found = []
    for place in islice(apart, ASKED):
        small = next(smaller(sides.table, graph, place))
        exercised.update([NAME])
        came, moved = (results_of(sides.run(each, DOUBLE)) for each in (small, shaken(small)))
        if len(came) == len(moved) == len(sides.sides):
            known = [each for each in sides.table[small.nodes[0].operator].loses if each in came]
            told = loss_in(
                {of: each[0] for of, each in came.items()}, {of: each[0] for of, each in moved.items()}, known
            )
            found += [] if told is None else [Culprit(small, told, place)]
    return found
