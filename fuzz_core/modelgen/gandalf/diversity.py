"""The diversity of models (definition 1, equations 1 and 2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from rapidfuzz.distance import Levenshtein

from fuzz_core.modelgen.gandalf.graph import Graph


def operators_of(graph: Graph) -> tuple[str, ...]:
    """Return a graph as the paper compares it: its operators, in order of computation."""
    return tuple(node.operator for node in graph.nodes)


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the fewest insertions, deletions and replacements that make two models equal (equation 2)."""
    return Levenshtein.distance(one, other)


def diversity(models: Sequence[Sequence[str]]) -> float:
    """Return the mean edit distance between any two models (equation 1); 0 if there are fewer than two."""
    distances = [edit_distance(one, other) for one, other in combinations(models, 2)]
    return sum(distances) / len(distances) if distances else 0.0
