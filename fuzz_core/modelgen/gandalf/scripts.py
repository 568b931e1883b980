"""A graph as a script that ends with an assertion: one element of its last node is not what it has to be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.relations.contract import Relation
from fuzz_core.modelgen.gandalf.rendering import Precision, written
from fuzz_core.modelgen.gandalf.table import Library, Operator

# The first words of its assertion, by which those who run it know that it is one of these.
SAID = "other libraries agree on another result"


class Expected(NamedTuple):
    """at: the index of the element. value: what it has to be, bound: give or take. witnesses: who says so.

    shape: what the shape has to be, where that is wrong and no element.
    """

    at: tuple[int, ...]
    value: float
    bound: float
    witnesses: str
    shape: tuple[int, ...] | None = None


def asserting(
    graph: Graph,
    table: Mapping[str, Operator],
    library: Library,
    precision: Precision,
    expected: Expected,
    relation: Relation | None = None,
) -> str:
    """The script; its last node is written as a relation says, where one is given. Raises what `render` does."""
    last = len(graph.nodes) - 1
    through = {} if relation is None else {last: relation}
    program = written(graph, table, library, precision, through)
    return "\n".join([*program, "", *_asserted(f"n{last}.numpy()", expected), ""])


def _asserted(array: str, expected: Expected) -> list[str]:
    if expected.shape is not None:
        found, value, holds = f"{array}.shape", repr(expected.shape), "found == expected"
    else:
        place = f"[{', '.join(map(str, expected.at))}]" if expected.at else ""
        found = f"float({array}{place})"
        value = repr(expected.value) if abs(expected.value) < float("inf") else f"float('{expected.value}')"
        holds = f"found == expected or abs(found - expected) <= {expected.bound!r}"
    said = f'f"{SAID}: {{expected!r}}, here {{found!r}}"'
    return [f"found = {found}", f"# {expected.witnesses}", f"expected = {value}", f"assert {holds}, {said}"]
