"""Decide from results alone which library computes a node wrongly, and by how much more than rounding explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.sides import DOUBLE, SINGLE, Runs, results_at
from fuzz_core.execution.replay import Array
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.shapes import TensorShape
from fuzz_core.modelgen.gandalf.surgery import given
from fuzz_core.modelgen.gandalf.table import Library, Precision

# Results with larger elements are not compared: no model computes with such numbers, and they overflow soon.
MOST_MAGNITUDE = 1e4
# Smaller results are compared by their absolute difference: a sum that cancels may be any number near zero.
LEAST_MAGNITUDE = 1e-3
# A change of the data by so much of itself is a few roundings of single precision, which data is given in.
NUDGE = 1e-6
# A smaller difference, relative to the largest element, is rounding of constants, sums and approximations.
BOUNDS = {"float32": 1e-3, "float64": 1e-6}
# A result may be off by so many times as much as the perturbation moves it: every operation inside rounds once.
TIMES = 64.0
# Double precision keeps fifteen digits. A result that is off by more has lost some to single precision.
LOSS = 1e-9
# The largest effect on a result that a perturbation of single precision may have. A rounding of double precision then
# moves the result by far less than LOSS.
STEADY = 1e-2


def error(one: Array, other: Array) -> float:
    """Return the largest difference of two results, relative to the largest of their elements, or to a thousandth.

    Equal infinities and NaN at equal places are no difference. Results of different shapes differ by infinity, and so
    do elements of which only one is finite.
    """
    if one.shape != other.shape:
        return float("inf")
    return float(np.max(_errors(one, other), initial=0.0))


def worst(one: Array, other: Array) -> tuple[int, ...]:
    """Return the place of the largest difference of two results of one shape."""
    return tuple(int(each) for each in np.unravel_index(int(np.argmax(_errors(one, other))), one.shape))


def _errors(one: Array, other: Array) -> Array:
    left, right = one.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(left) & np.isfinite(right)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(invalid="ignore", over="ignore"):
        largest = float(np.max(np.maximum(np.abs(left), np.abs(right)), initial=0.0, where=finite))
        return np.where(same, 0.0, np.where(finite, np.abs(left - right) / max(largest, LEAST_MAGNITUDE), np.inf))


def moderate(arrays: Sequence[Array]) -> bool:
    """Return whether all elements are finite and of a magnitude that models compute with."""
    return all(bool(np.all(np.abs(each.astype(np.float64)) <= MOST_MAGNITUDE)) for each in arrays)


def nudged(array: Array, seed: int, sign: int = 1) -> Array:
    """Return the array with each element a little more or less; the other sign moves each the other way.

    A result that moves far by this is ill-conditioned, or there was a tie. One of two opposite moves shows a tie or a
    step at any place.
    """
    if array.dtype.kind != "f":
        return array
    scale = float(np.max(np.abs(array), initial=0.0)) or 1.0
    moved: Array = array + sign * np.random.RandomState(seed).uniform(-NUDGE, NUDGE, array.shape) * (
        np.abs(array) + scale
    )
    return moved


def bound(precision: str, plain: Array, moved: Array) -> float:
    """Return how far a result of this precision may be from another one of the same data."""
    return max(BOUNDS[precision], TIMES * error(plain, moved))


def parties(results: Mapping[Library, Array], most: float) -> list[list[Library]]:
    """Return the parties of results that agree, the largest first; each member agrees with the first of its party."""
    found: list[list[Library]] = []
    for name, result in results.items():
        for party in found:
            if error(results[party[0]], result) <= most:
                party.append(name)
                break
        else:
            found.append([name])
    return sorted(found, key=len, reverse=True)


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


def nudged_graph(graph: Graph, sign: int = 1) -> Graph:
    """Return the graph on perturbed data.

    Args:
        sign: see `nudged`.
    """
    inputs = []
    for place, each in enumerate(graph.inputs):
        data = each.array.astype(np.float64) if each.dtype == "float" else each.array
        inputs.append(given(TensorShape(each.shape, each.dtype), nudged(data, place, sign)))
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
        double, single, nudge = (
            results_at(runs.double, place),
            results_at(runs.single, place),
            results_at(moved.double, place),
        )
        noise = {library: error(single[library], each) for library, each in results_at(moved.single, place).items()}
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
