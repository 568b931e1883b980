"""How much models differ from each other (definition 1, equations 1 and 2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from rapidfuzz.distance import Levenshtein

from fuzz_core.modelgen.gandalf.graph import Graph


def operators_of(graph: Graph) -> tuple[str, ...]:
    """A graph as the paper compares it: its operators, in order of computation."""
    return tuple(node.operator for node in graph.nodes)


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Returns the fewest insertions, deletions and replacements of operators that make one model the other (equation
    2).
    """
    return Levenshtein.distance(one, other)


def diversity(models: Sequence[Sequence[str]]) -> float:
    """The mean edit distance between any two models (equation 1); 0 where there are fewer than two."""
    distances = [edit_distance(one, other) for one, other in combinations(models, 2)]
    return sum(distances) / len(distances) if distances else 0.0
