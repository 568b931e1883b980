"""What libraries disagree about in a graph, node by node, and which of them is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.comparing import (
    BOUNDS,
    LEAST_MAGNITUDE,
    TIMES,
    bound,
    error,
    moderate,
    nudged,
    parties,
    worst,
)
from fuzz_core.campaign.gandalf.sides import Came, Sides
from fuzz_core.execution.replay import Array, Results
from fuzz_core.ir.outcome import Outcome
from fuzz_core.modelgen.gandalf.graph import Graph, Input
from fuzz_core.modelgen.gandalf.rendering import Precision
from fuzz_core.modelgen.gandalf.shapes import Tensor
from fuzz_core.modelgen.gandalf.surgery import given
from fuzz_core.modelgen.gandalf.table import Library

DOUBLE: Precision = "float64"
SINGLE: Precision = "float32"
PRECISIONS: tuple[Precision, ...] = (DOUBLE, SINGLE)
# Double precision keeps fifteen digits. A result that is off by more has lost some to single precision.
LOSS = 1e-9
# Data that is nudged by a rounding of single precision may move a result by so much: a rounding of double precision
# moves it by far less than a loss.
STEADY = 1e-2


class Disagreement(NamedTuple):
    """One node: who is wrong, in which precision, and what its worst element has to be, give or take `bound`.

    witnesses: the libraries that agree on it. decided: whether they are more than those who say otherwise, or it is
    a library's own double precision that says so. shape: what it has to be, where it is another. seen: what the element
    is instead.
    """

    wrong: Library
    precision: Precision
    witnesses: tuple[Library, ...]
    decided: bool
    at: tuple[int, ...]
    value: float
    bound: float
    shape: tuple[int, ...] | None = None
    seen: float = 0.0


class Runs(NamedTuple):
    """What a graph came to in both precisions, where all libraries gave results in both."""

    double: Mapping[Library, Results]
    single: Mapping[Library, Results]


def drawn(each: Input) -> Array:
    """The data of an input, as programs make it."""
    if each.values:
        found = np.array(each.values).reshape(each.shape)
    elif each.dtype == "float":
        found = np.random.RandomState(each.seed).standard_normal(each.shape)
    else:
        found = np.random.RandomState(each.seed).randint(0, 10 if each.dtype == "int" else 2, each.shape)
    return found.astype({"float": np.float32, "int": np.int64, "bool": np.bool_}[each.dtype])


def ran(sides: Sides, graph: Graph, libraries: Sequence[Library] = ()) -> Runs | dict[Library, Outcome]:
    """Both precisions; how those ended that did not give results, where there are any."""
    return both(lambda precision: sides.run(graph, precision, libraries))


def both(run: Callable[[Precision], Mapping[Library, Came]]) -> Runs | dict[Library, Outcome]:
    """What comes in both precisions; how those ended that did not give results, where there are any."""
    double = run(DOUBLE)
    if wrong := failed(double):
        return wrong
    single = run(SINGLE)
    return failed(single) or Runs(results_of(double), results_of(single))


def failed(came: Mapping[Library, Came]) -> dict[Library, Outcome]:
    """Those that did not give results."""
    return {library: each for library, each in came.items() if isinstance(each, Outcome)}


def results_of(came: Mapping[Library, Came]) -> dict[Library, Results]:
    """Those that gave results."""
    return {library: each for library, each in came.items() if not isinstance(each, Outcome)}


def precisions(sides: Sides, graph: Graph) -> dict[int, Precision]:
    """For each node the precision in which all libraries have it at the most."""
    single = [set(sides.table[node.operator].coarse) & set(sides.sides) for node in graph.nodes]
    return {place: SINGLE if each else DOUBLE for place, each in enumerate(single)}


def suspicious(runs: Runs, best: Mapping[int, Precision]) -> bool:
    """Whether anything is further apart than rounding brings single operators; sums of many may be, too."""
    first, *others = runs.double.values()
    # What follows an operator of single precision is no better.
    most = max((BOUNDS[each] for each in best.values()), default=0.0)
    for place in best:
        if any(error(first[place], other[place]) > most for other in others):
            return True
        if any(error(runs.double[each][place], runs.single[each][place]) > BOUNDS[SINGLE] for each in runs.double):
            return True
    return False


def disagreements(sides: Sides, graph: Graph) -> dict[int, Disagreement]:
    """By node, what is further apart than a nudge of the data explains; empty where some library does not take it."""
    runs, moved = ran(sides, graph), ran(sides, shaken(graph))
    if not isinstance(runs, Runs) or not isinstance(moved, Runs):
        return {}
    return found_in(runs, moved, precisions(sides, graph))


def found_in(runs: Runs, moved: Runs, best: Mapping[int, Precision]) -> dict[int, Disagreement]:
    """The same of results. moved: after a nudge of the data. best: see `precisions`."""
    found: dict[int, Disagreement] = {}
    for place, precision in best.items():
        double = {library: each[place] for library, each in runs.double.items()}
        single = {library: each[place] for library, each in runs.single.items()}
        nudge = {library: each[place] for library, each in moved.double.items()}
        noise = {library: error(single[library], each[place]) for library, each in moved.single.items()}
        if (told := _meant(double, nudge, precision) or _rounded(double, single, nudge, noise)) is not None:
            found[place] = told
    return found


def _meant(
    double: Mapping[Library, Array], nudge: Mapping[Library, Array], precision: Precision
) -> Disagreement | None:
    """What is not rounding at all: libraries mean other things.

    Of as many on both sides, those have more to say for themselves whose numbers are of a size to compute with.
    """
    most = max(bound(precision, double[each], nudge[each]) for each in double)
    sorted_ = sorted(parties(double, most), key=lambda each: (-len(each), not moderate([double[each[0]]])))
    if len(sorted_) == 1 or not moderate([double[sorted_[0][0]]]):
        return None
    largest, next_ = sorted_[:2]
    right, wrong = double[largest[0]], double[next_[0]]
    decided = len(largest) > len(next_)
    return _told(next_[0], DOUBLE, tuple(largest), decided, wrong, right, most)


def _rounded(
    double: Mapping[Library, Array],
    single: Mapping[Library, Array],
    nudge: Mapping[Library, Array],
    noise: Mapping[Library, float],
) -> Disagreement | None:
    """A library's single precision that is far from its double, where that of others is not.

    noise: how far a nudge moves it in single precision: what cancels to nothing is all rounding there.
    """
    if not moderate(list(double.values())):
        return None
    most = {each: max(bound(SINGLE, double[each], nudge[each]), TIMES * noise[each]) for each in double}
    wrong = [each for each in double if error(double[each], single[each]) > most[each]]
    if not wrong or len(wrong) == len(double):
        return None
    first = wrong[0]
    witnesses = tuple(each for each in double if each not in wrong)
    return _told(first, SINGLE, witnesses, True, single[first], double[first], most[first])


def loss_in(
    double: Mapping[Library, Array], nudge: Mapping[Library, Array], known: Sequence[Library] = ()
) -> Disagreement | None:
    """A library whose double precision is further from that of others than its roundings, but within single precision.

    known: libraries of which the table says so: of two, one of these is wrong.
    """
    if not moderate(list(double.values())) or any(each.dtype != np.float64 for each in double.values()):
        return None
    found = parties(double, LOSS)
    if len(found) == 1 or any(error(each, nudge[library]) > STEADY for library, each in double.items()):
        return None
    right, wrong = sorted(found, key=lambda each: (-len(each), each[0] in known))[:2]
    if error(double[right[0]], double[wrong[0]]) > BOUNDS[DOUBLE]:
        return None
    decided = len(right) > len(wrong) or wrong[0] in known
    return _told(wrong[0], DOUBLE, tuple(right), decided, double[wrong[0]], double[right[0]], LOSS)


def _told(
    wrong: Library,
    precision: Precision,
    witnesses: tuple[Library, ...],
    decided: bool,
    seen: Array,
    right: Array,
    most: float,
) -> Disagreement:
    if seen.shape != right.shape:
        return Disagreement(wrong, precision, witnesses, decided, (), 0.0, 0.0, right.shape)
    at = worst(seen, right)
    scale = float(np.max(np.abs(right.astype(np.float64)), initial=0.0))
    bound_ = most * max(scale, LEAST_MAGNITUDE)
    return Disagreement(wrong, precision, witnesses, decided, at, float(right[at]), bound_, seen=float(seen[at]))


def shaken(graph: Graph) -> Graph:
    """The graph on data that is nudged."""
    inputs = []
    for place, each in enumerate(graph.inputs):
        moved = nudged(drawn(each).astype(np.float64) if each.dtype == "float" else drawn(each), place)
        inputs.append(given(Tensor(each.shape, each.dtype), moved.ravel().tolist()))
    return graph.model_copy(update={"inputs": tuple(inputs)})
