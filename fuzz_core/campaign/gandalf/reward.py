"""Equation 3 of Gandalf (section 4.3): what each selection of an operator is worth, by the result of that operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.disagreement import data_of
from fuzz_core.campaign.gandalf.distance import BOUNDS, error
from fuzz_core.campaign.gandalf.sides import DOUBLE, Runs
from fuzz_core.execution.replay import Array
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.guidance import Pair

# The largest distance, which results of different shapes have, for instance.
MOST_DISTANCE = 1.0


class Weights(NamedTuple):
    """Beta, gamma and delta of equation 3."""

    inconsistency: float = 1.0
    crash: float = 1.0
    nonfinite: float = 1.0


def rewards(graph: Graph, runs: Runs, weights: Weights) -> list[float]:
    """Return the reward of each node of a graph that all libraries have computed."""
    mean = mean_input_magnitude(graph)
    return [
        _metric({library: each[place] for library, each in runs.double.items()}, mean, weights)
        for place in range(len(graph.nodes))
    ]


def crash_rewards(graph: Graph, places: Sequence[int], weights: Weights) -> list[float]:
    """Return the reward of each node of a graph with which a library fails.

    Args:
        places: the nodes with which libraries fail.
    """
    return [
        weights.crash * mean_input_magnitude(graph) if place in places else 0.0 for place in range(len(graph.nodes))
    ]


def mean_input_magnitude(graph: Graph) -> float:
    """Return m_d: the mean magnitude of the input data."""
    sizes = [np.abs(data_of(each).astype(np.float64)).ravel() for each in graph.inputs]
    every = np.concatenate(sizes) if sizes else np.empty(0)
    return float(every.mean()) if every.size else 0.0


def of_choices(chosen: Sequence[Pair], operators: Sequence[str], worth: Sequence[float]) -> list[float]:
    """Return the reward of each choice; a choice that became no node has 0.

    Args:
        operators: the operators of the nodes, in order.
        worth: the rewards of the nodes, in order.
    """
    found, place = [0.0] * len(chosen), 0
    for number, (_, name) in enumerate(chosen):
        if place < min(len(operators), len(worth)) and operators[place] == name:
            found[number] = worth[place]
            place += 1
    return found


def _metric(results: Mapping[str, Array], mean: float, weights: Weights) -> float:
    if not all(np.isfinite(each.astype(np.float64)).all() for each in results.values()):
        return weights.nonfinite * mean
    distances = [error(results[one], results[other]) for one, other in combinations(results, 2)]
    distance = min(max(distances, default=0.0), MOST_DISTANCE)
    confidence = sum(each > BOUNDS[DOUBLE] for each in distances) / max(len(distances), 1)
    return weights.inconsistency * distance * confidence
