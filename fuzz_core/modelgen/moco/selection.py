"""Equivalence classes of nodes, and the selection of nodes that grow further (MoCo 2024, section III-D)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.moco.constants import Opaque, meaning, written
from fuzz_core.modelgen.moco.facts import Facts, Parameter
from fuzz_core.modelgen.moco.legality import is_within, numbers
from fuzz_core.modelgen.moco.nodes import OK, REPLACED, TreeNode
from fuzz_core.modelgen.moco.operators import Mutant

T = TypeVar("T")


def equivalence(mutant: Mutant, facts: Facts | None) -> str:
    """Return the class of a mutant: for AR its api, otherwise api, parameter and class of the new value."""
    if mutant.operator == REPLACED or not mutant.parameter:
        return f"{mutant.operator} {mutant.call.api}"
    parameter = facts.parameter(mutant.parameter) if facts is not None else None
    named = value_class(parameter, meaning(mutant.new)) if parameter is not None else mutant.new
    return f"{mutant.operator} {mutant.call.api} {mutant.parameter} {named}"


def value_class(parameter: Parameter, value: object) -> str:
    """Return `inside`, `at` or `outside` for numbers, and for a sequence the outermost of these.

    For any other value, returns its text, or `other` for a name.
    """
    found = [_side(parameter, number) for number in numbers(value)]
    if found:
        return max(found, key=("inside", "at", "outside").index)
    if isinstance(value, Opaque):
        return "other"
    return written(value)[:80]


def _side(parameter: Parameter, number: float) -> str:
    if not is_within(parameter.bounds, number):
        return "outside"
    # For an open bound, the integer next to it is at the bound.
    integer = isinstance(number, int)
    ends = [
        float(bound.bounds[0]) + ({"above": 1, "below": -1}.get(bound.kind, 0) if integer else 0)
        for bound in parameter.bounds
    ]
    return "at" if number in ends else "inside"


def survivors(level: Iterable[TreeNode], rng: Rng, keep: float = 0.5, widest: int = 0) -> set[int]:
    """Return the numbers of the nodes that get children: a share of each class of working nodes, at least one.

    Negative nodes and failures are leaves.

    Args:
        keep: the share of each class.
        widest: the most nodes, taken from all classes in turn; 0 for no limit.
    """
    classes: dict[str, list[int]] = defaultdict(list)
    for node in level:
        if node.positive and node.state == OK:
            classes[node.equivalence].append(node.number)
    kept = [
        sample(numbers_, max(1, math.floor(len(numbers_) * keep + 0.5)), rng) for _, numbers_ in sorted(classes.items())
    ]
    if widest:
        kept = [_in_turn(sample(kept, len(kept), rng))[:widest]]
    return {number for each in kept for number in each}


def sample(items: Sequence[T], count: int, rng: Rng) -> list[T]:
    """Return this number of items, in random order."""
    left = list(items)
    return [left.pop(rng.below(len(left))) for _ in range(count)]


def _in_turn(classes: Sequence[Sequence[int]]) -> list[int]:
    longest = max(map(len, classes), default=0)
    return [each[place] for place in range(longest) for each in classes if place < len(each)]
