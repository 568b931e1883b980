"""Ways to compute the last node of a graph that must give what it gives plainly: rewritten, compiled, row by row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.looking import drawn
from fuzz_core.campaign.gandalf.sides import Came, Sides
from fuzz_core.execution.replay import Array
from fuzz_core.modelgen.gandalf.again import compiling
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.relations.contract import Relation
from fuzz_core.modelgen.gandalf.rendering import Precision, written
from fuzz_core.modelgen.gandalf.rows import row, rows
from fuzz_core.modelgen.gandalf.scripts import ALONE, COMPILED, REWRITTEN
from fuzz_core.modelgen.gandalf.shapes import Tensor
from fuzz_core.modelgen.gandalf.table import Library, Operator


class Shown(NamedTuple):
    """A program of one library, and the expression in it of the array that has the element in question, at `at`."""

    program: list[str]
    array: str
    at: tuple[int, ...]


class Way(ABC):
    """said: the script's word for what is wrong, one of `scripts.SAID`. told: in words, for origins and comments.

    name: under which reports count it. reference: the precision of the plain result, where it is another one.
    """

    said: str
    told: str
    name: str
    reference: Precision | None = None

    @abstractmethod
    def last(self, sides: Sides, graph: Graph, library: Library, precision: Precision) -> Array | None:
        """The last node's result in this way; None where the library does not take it."""

    @abstractmethod
    def shown(
        self, graph: Graph, table: Mapping[str, Operator], library: Library, precision: Precision, at: tuple[int, ...]
    ) -> Shown:
        """The program that computes one element of it in this way."""


class Rewritten(Way):
    """By a relation of table 4."""

    said = REWRITTEN

    def __init__(self, relation: Relation) -> None:
        self.relation, self.reference = relation, relation.reference
        self.name = f"relation {relation.number}"
        self.told = f"relation {relation.number} does not rewrite it: {relation.statement}"

    def last(self, sides: Sides, graph: Graph, library: Library, precision: Precision) -> Array | None:
        """See `Way`."""
        place = len(graph.nodes) - 1
        return last(sides.run(graph, precision, [library], {library: {place: self.relation}})[library], place)

    def shown(
        self, graph: Graph, table: Mapping[str, Operator], library: Library, precision: Precision, at: tuple[int, ...]
    ) -> Shown:
        """See `Way`. The plain way goes first, as it did here: what a library has kept of that may be what is wrong."""
        place = len(graph.nodes) - 1
        array = f"n{place}.numpy()"
        plain = written(graph, table, library, precision)
        rewritten = written(graph, table, library, precision, {place: self.relation})
        same = takewhile(lambda pair: pair[0] == pair[1], zip(plain, rewritten, strict=False))
        return Shown([*plain, array, "", *rewritten[len(list(same)) :]], array, at)


class Compiled(Way):
    """As a compiled function."""

    said, told, name = COMPILED, "it is not compiled", "compiled"

    def last(self, sides: Sides, graph: Graph, library: Library, precision: Precision) -> Array | None:
        """See `Way`."""
        return last(sides.compiled(graph, precision, [library])[library], len(graph.nodes) - 1)

    def shown(
        self, graph: Graph, table: Mapping[str, Operator], library: Library, precision: Precision, at: tuple[int, ...]
    ) -> Shown:
        """See `Way`."""
        return Shown(compiling(graph, table, library, precision), f"made[{len(graph.nodes) - 1}].numpy()", at)


class RowByRow(Way):
    """Each row of a batch alone; of a graph of one operator that has rows, see `rows`."""

    said, told, name = ALONE, "the row is one of a batch", "row by row"

    def last(self, sides: Sides, graph: Graph, library: Library, precision: Precision) -> Array | None:
        """See `Way`."""
        came = sides.run(rows(graph, sides.table, _data(graph)), precision, [library])[library]
        return np.concatenate([came[place] for place in sorted(came)]) if isinstance(came, Mapping) else None

    def shown(
        self, graph: Graph, table: Mapping[str, Operator], library: Library, precision: Precision, at: tuple[int, ...]
    ) -> Shown:
        """See `Way`."""
        program = written(row(graph, table, _data(graph), at[0]), table, library, precision)
        return Shown(program, "n0.numpy()", (0, *at[1:]))


def last(came: Came, place: int) -> Array | None:
    """The result of a node; None where there is none."""
    return came[place] if isinstance(came, Mapping) else None


def _data(graph: Graph) -> list[tuple[Tensor, Array]]:
    return [(Tensor(each.shape, each.dtype), drawn(each)) for each in graph.inputs]
