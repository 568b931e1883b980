"""What a library makes of the same model in another way: by the relations of table 4, compiled, row by row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.comparing import BOUNDS, LEAST_MAGNITUDE, TIMES, bound, error, moderate, worst
from fuzz_core.campaign.gandalf.culprits import sensible, smaller, taken, values_of
from fuzz_core.campaign.gandalf.looking import DOUBLE, SINGLE, Runs, precisions, shaken
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.campaign.gandalf.ways import Compiled, Rewritten, RowByRow, Way, last
from fuzz_core.execution.replay import Results
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.rendering import Precision
from fuzz_core.modelgen.gandalf.rows import batched
from fuzz_core.modelgen.gandalf.scripts import Expected, asserting
from fuzz_core.modelgen.gandalf.surgery import above, apart
from fuzz_core.modelgen.gandalf.table import Library

# By so much single precision rounds coarser than double.
COARSER = 2.0**29


class Violation(NamedTuple):
    """The last node of a graph in a way that gives something else. place: which node of the whole graph that was."""

    graph: Graph
    library: Library
    way: Way
    script: str
    expected: Expected
    place: int


def violations(
    sides: Sides, graph: Graph, runs: Runs, asks: Asks, exercised: Counter[str], refused: Counter[str]
) -> Iterator[Violation]:
    """The first of each library that does not hold. exercised: how often each relation was asked, by its number."""
    precision, through = asks.precision, {library: each for library, each in asks.through.items() if each}
    for library, results in sides.run(graph, precision, list(through), through).items() if through else ():
        names = [f"relation {relation.number}" for relation in through[library].values()]
        if not isinstance(results, Mapping):
            refused.update([f"{library} {' or '.join(sorted(set(names)))}"])
            continue
        exercised.update(names)
        for place, relation in through[library].items():
            plain = _plain(runs, reference := relation.reference or precision)
            others = [each for each in plain if each != library] if asks.between else []
            far = [each for each in (library, *others) if error(plain[each][place], results[place]) > BOUNDS[reference]]
            way, small = Rewritten(relation), above(graph, place)
            found = next(filter(None, (_alone(sides, small, library, way, precision, each) for each in far)), None)
            if found is not None:
                yield found._replace(place=place)
                break


def miscompiled(
    sides: Sides, graph: Graph, runs: Runs, precision: Precision, exercised: Counter[str], skipped: Counter[str]
) -> Iterator[Violation]:
    """The first node of each library that gives something else where the model is compiled as a function."""
    for library, results in sides.compiled(graph, precision).items():
        if not isinstance(results, Mapping):
            skipped.update([f"{library} compiled"])
            continue
        exercised.update(["compiled"])
        plain = _plain(runs, precision)[library]
        for place in [each for each in plain if error(plain[each], results[each]) > BOUNDS[precision]]:
            graphs = smaller(sides.table, graph, place)
            every = (_alone(sides, each, library, Compiled(), precision) for each in graphs)
            if (found := next(filter(None, every), None)) is not None:
                yield found._replace(place=place)
                break


def mixed(sides: Sides, graph: Graph, runs: Runs, rng: Rng, exercised: Counter[str]) -> Iterator[Violation]:
    """Where one node's rows, each alone, give something else in some libraries, and in others do not.

    Where they do in all, the operator has to do with the batch as a whole.
    """
    tensors = taken(sides, graph, runs)
    shapes = {place: [tensors[name][0] for name in node.takes] for place, node in enumerate(graph.nodes)}
    operators = [sides.table[node.operator] for node in graph.nodes]
    places = [
        place for place in sensible(graph, tensors) if batched(operators[place], graph.nodes[place], shapes[place]) > 1
    ]
    if not places:
        return
    place = rng.choice(places)
    alone = apart(graph, [place], values_of(tensors))
    if SINGLE in precisions(sides, alone).values():
        return
    exercised.update(["row by row"])
    found = {library: _alone(sides, alone, library, RowByRow(), DOUBLE) for library in sides.sides}
    if None in found.values():
        yield from (each._replace(place=place) for each in found.values() if each is not None)


def _alone(
    sides: Sides, graph: Graph, library: Library, way: Way, precision: Precision, against: Library | None = None
) -> Violation | None:
    """Whether the last node alone gives something else in this way, by more than a nudge explains.

    against: the library whose plain result it is compared with, by default the same one.
    """
    place, reference, of = len(graph.nodes) - 1, way.reference or precision, against or library
    plain, nudged = (last(sides.run(each, reference, [of])[of], place) for each in (graph, shaken(graph)))
    other = way.last(sides, graph, library, precision)
    if plain is None or nudged is None or other is None or plain.shape != other.shape or not moderate([plain]):
        return None
    single = library in sides.table[graph.nodes[place].operator].coarse
    most, far = bound(SINGLE if single else reference, plain, nudged), error(plain, other)
    if far <= most or (precision == SINGLE and far <= _rounding(sides, graph, library, way)):
        return None
    at, scale = worst(other, plain), float(np.max(np.abs(plain.astype(np.float64)), initial=0.0))
    expected = Expected(
        at, float(plain[at]), most * max(scale, LEAST_MAGNITUDE), f"{_named(sides, library, of)}, where {way.told}"
    )
    program, array, at = way.shown(graph, sides.table, library, precision, at)
    script = asserting(program, array, way.said, expected._replace(at=at))
    return Violation(graph, library, way, script, expected, place)


def _named(sides: Sides, library: Library, other: Library) -> str:
    return "this library" if other == library else sides.sides[other].name


def _rounding(sides: Sides, graph: Graph, library: Library, way: Way) -> float:
    """How far rounding alone may bring the way off in single precision: it does so in double, and as much less as that.

    Where that would be more than the result itself, it is no rounding.
    """
    if SINGLE in precisions(sides, graph).values():
        return 0.0
    plain = last(sides.run(graph, DOUBLE, [library])[library], len(graph.nodes) - 1)
    other = way.last(sides, graph, library, DOUBLE)
    most = 0.0 if plain is None or other is None else TIMES * COARSER * error(plain, other)
    return most if most <= 1.0 else 0.0


def _plain(runs: Runs, precision: Precision) -> Mapping[Library, Results]:
    return runs.double if precision == DOUBLE else runs.single
