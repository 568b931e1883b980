"""Decide from results alone which library computes a node wrongly, and by how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.distance import (
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
from fuzz_core.campaign.gandalf.sides import DOUBLE, SINGLE, Runs
from fuzz_core.execution.replay import Array
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput
from fuzz_core.modelgen.gandalf.shapes import TensorShape
from fuzz_core.modelgen.gandalf.surgery import given
from fuzz_core.modelgen.gandalf.table import Library, Precision

# Double precision keeps fifteen digits. A result that is off by more has lost some to single precision.
LOSS = 1e-9
# The largest effect on a result that a perturbation of single precision may have. A rounding of double precision then
# moves the result by far less than LOSS.
STEADY = 1e-2


class Disagreement(NamedTuple):
    """A node that a library computes wrongly, and the element that shows it."""

    wrong: Library
    precision: Precision
    witnesses: tuple[Library, ...]  # the libraries that agree on the right result
    decided: bool  # the witnesses are a majority, or the library's own double precision is the witness
    at: tuple[int, ...]  # index of the element
    value: float  # what the element has to be
    bound: float  # by how much the element may be off
    shape: tuple[int, ...] | None = None  # what the shape has to be, if the shape is wrong
    seen: float = 0.0  # what the element is
    variable: str = ""  # the variable whose gradient is wrong; empty for a result

    @property
    def text(self) -> str:
        """A description of the fault in words."""
        if self.shape is not None:
            return f"another shape, not {list(self.shape)}"
        return f"{self.seen:g} in {self.precision} at {list(self.at)}, not {self.value:g}"


def data_of(each: GraphInput) -> Array:
    """Return the data of an input, as programs make it."""
    if each.values:
        data = np.array(each.values).reshape(each.shape)
    elif each.dtype == "float":
        data = np.random.RandomState(each.seed).standard_normal(each.shape)
    else:
        data = np.random.RandomState(each.seed).randint(0, 10 if each.dtype == "int" else 2, each.shape)
    return data.astype({"float": np.float32, "int": np.int64, "bool": np.bool_}[each.dtype])


def nudged_graph(graph: Graph, sign: int = 1) -> Graph:
    """Return the graph on perturbed data.

    Args:
        sign: see `distance.nudged`.
    """
    inputs = []
    for place, each in enumerate(graph.inputs):
        data = data_of(each)
        moved = nudged(data.astype(np.float64) if each.dtype == "float" else data, place, sign)
        inputs.append(given(TensorShape(each.shape, each.dtype), moved.ravel().tolist()))
    return graph.model_copy(update={"inputs": tuple(inputs)})


def suspicious(runs: Runs, best: Mapping[int, Precision]) -> bool:
    """Return whether any results are further apart than rounding brings one operator; many operators may be, too."""
    first, *others = runs.double.values()
    # The result of an operator of single precision limits the precision of all later nodes.
    most = max((BOUNDS[each] for each in best.values()), default=0.0)
    for place in best:
        if any(error(first[place], other[place]) > most for other in others):
            return True
        if any(error(runs.double[each][place], runs.single[each][place]) > BOUNDS[SINGLE] for each in runs.double):
            return True
    return False


def disagreements(runs: Runs, moved: Runs, best: Mapping[int, Precision]) -> dict[int, Disagreement]:
    """Return by node the results that are further apart than a perturbation of the data explains.

    Args:
        runs: the results.
        moved: the results after a perturbation of the data.
        best: see `Sides.precisions`.
    """
    found: dict[int, Disagreement] = {}
    for place, precision in best.items():
        double = {library: each[place] for library, each in runs.double.items()}
        single = {library: each[place] for library, each in runs.single.items()}
        nudge = {library: each[place] for library, each in moved.double.items()}
        noise = {library: error(single[library], each[place]) for library, each in moved.single.items()}
        if (wrong := _apart(double, nudge, precision) or _rounded(double, single, nudge, noise)) is not None:
            found[place] = wrong
    return found


def _apart(
    double: Mapping[Library, Array], nudge: Mapping[Library, Array], precision: Precision
) -> Disagreement | None:
    """Return a difference that is too large for rounding: the libraries disagree on what the operator means.

    If two parties have the same size, the party with numbers of moderate size is taken for right.
    """
    most = max(bound(precision, double[each], nudge[each]) for each in double)
    sorted_ = sorted(parties(double, most), key=lambda each: (-len(each), not moderate([double[each[0]]])))
    if len(sorted_) == 1 or not moderate([double[sorted_[0][0]]]):
        return None
    largest, next_ = sorted_[:2]
    right, wrong = double[largest[0]], double[next_[0]]
    return between(next_[0], DOUBLE, tuple(largest), len(largest) > len(next_), wrong, right, most)


def _rounded(
    double: Mapping[Library, Array],
    single: Mapping[Library, Array],
    nudge: Mapping[Library, Array],
    noise: Mapping[Library, float],
) -> Disagreement | None:
    """Return a library's single precision that is far from its double, if that of other libraries is not.

    Args:
        noise: how far a perturbation moves the result in single precision: a result that cancels to zero is all
            rounding.
    """
    if not moderate(list(double.values())):
        return None
    most = {each: max(bound(SINGLE, double[each], nudge[each]), TIMES * noise[each]) for each in double}
    wrong = [each for each in double if error(double[each], single[each]) > most[each]]
    if not wrong or len(wrong) == len(double):
        return None
    first = wrong[0]
    witnesses = tuple(each for each in double if each not in wrong)
    return between(first, SINGLE, witnesses, True, single[first], double[first], most[first])


def precision_loss(
    double: Mapping[Library, Array], nudge: Mapping[Library, Array], known: Sequence[Library] = ()
) -> Disagreement | None:
    """Return a library whose double precision is off by more than its roundings, but within single precision.

    Args:
        known: libraries that the table says this about: if two libraries disagree, one of these is wrong.
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
    return between(wrong[0], DOUBLE, tuple(right), decided, double[wrong[0]], double[right[0]], LOSS)


def between(
    wrong: Library,
    precision: Precision,
    witnesses: tuple[Library, ...],
    decided: bool,
    seen: Array,
    right: Array,
    most: float,
) -> Disagreement:
    """Return the disagreement of two results, with their worst element.

    Args:
        most: the bound, relative to the largest element.
    """
    if seen.shape != right.shape:
        return Disagreement(wrong, precision, witnesses, decided, (), 0.0, 0.0, right.shape)
    at = worst(seen, right)
    scale = float(np.max(np.abs(right.astype(np.float64)), initial=0.0))
    bound_ = most * max(scale, LEAST_MAGNITUDE)
    return Disagreement(wrong, precision, witnesses, decided, at, float(right[at]), bound_, seen=float(seen[at]))
