"""The relations of table 4 at work: what a library makes of the same model, written in another way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.comparing import BOUNDS, LEAST_MAGNITUDE, bound, error, moderate, worst
from fuzz_core.campaign.gandalf.looking import DOUBLE, SINGLE, Runs, shaken
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.execution.results import Results
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.relations import RELATIONS
from fuzz_core.modelgen.gandalf.relations.contract import Relation
from fuzz_core.modelgen.gandalf.rendering import Precision
from fuzz_core.modelgen.gandalf.scripts import Expected
from fuzz_core.modelgen.gandalf.surgery import above
from fuzz_core.modelgen.gandalf.table import Library

PRECISIONS: tuple[Precision, ...] = (DOUBLE, SINGLE)


class Violation(NamedTuple):
    """A relation that does not hold of the last node of a graph. place: which node of the whole graph that was."""

    graph: Graph
    library: Library
    relation: Relation
    precision: Precision
    expected: Expected
    place: int


def drawn(sides: Sides, graph: Graph, library: Library, precision: Precision, rng: Rng) -> dict[int, Relation]:
    """For each node one of the relations that apply to it in a library and hold in this precision, where any does."""
    found = {}
    for place, node in enumerate(graph.nodes):
        operator = sides.table[node.operator]
        fitting = [
            relation
            for relation in RELATIONS.values()
            if precision in relation.precisions
            and relation.applies_to(operator, library)
            and set(relation.constants(operator)) <= set(node.constants)
        ]
        if fitting:
            found[place] = rng.choice(fitting)
    return found


def violations(
    sides: Sides, graph: Graph, runs: Runs, rng: Rng, exercised: Counter[str], refused: Counter[str]
) -> Iterator[Violation]:
    """The first of each library that does not hold. exercised: how often each relation was asked, by its number."""
    precision = rng.choice(PRECISIONS)
    through = {library: drawn(sides, graph, library, precision, rng) for library in sides.sides}
    came = sides.run(graph, precision, through=through)
    plain = runs.double if precision == DOUBLE else runs.single
    for library, results in came.items():
        names = [f"relation {relation.number}" for relation in through[library].values()]
        if not isinstance(results, Mapping):
            refused.update([f"{library} {' or '.join(sorted(set(names)))}"])
            continue
        exercised.update(names)
        for place, relation in through[library].items():
            if error(plain[library][place], results[place]) <= BOUNDS[precision]:
                continue
            if (found := _alone(sides, above(graph, place), library, relation, precision)) is not None:
                yield found._replace(place=place)
                break


def _alone(sides: Sides, graph: Graph, library: Library, relation: Relation, precision: Precision) -> Violation | None:
    """Whether a relation fails when the last node alone is written otherwise, by more than a nudge explains."""
    last = len(graph.nodes) - 1
    plain, nudged = (_last(sides.run(each, precision, [library])[library], last) for each in (graph, shaken(graph)))
    other = _last(sides.run(graph, precision, [library], {library: {last: relation}})[library], last)
    if plain is None or nudged is None or other is None or plain.shape != other.shape or not moderate([plain]):
        return None
    single = library in sides.table[graph.nodes[last].operator].single
    most = bound(SINGLE if single else precision, plain, nudged)
    if error(plain, other) <= most:
        return None
    at, scale = worst(other, plain), float(np.max(np.abs(plain.astype(np.float64)), initial=0.0))
    said = f"this library, where relation {relation.number} does not rewrite it: {relation.statement}"
    expected = Expected(at, float(plain[at]), most * max(scale, LEAST_MAGNITUDE), said)
    return Violation(graph, library, relation, precision, expected, last)


def _last(came: object, place: int) -> np.ndarray | None:
    results: Results | None = came if isinstance(came, Mapping) else None
    return None if results is None else results[place]
