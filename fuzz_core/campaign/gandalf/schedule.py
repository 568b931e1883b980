"""Assignment of the relations of table 4 to nodes, so that each relation is asked equally often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from fuzz_core.campaign.gandalf.figures import GandalfOptions
from fuzz_core.campaign.gandalf.sides import PRECISIONS
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.generation import Grammar, GraphOptions, alone
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.relations import RELATIONS, Relation
from fuzz_core.modelgen.gandalf.shapes import ShapeError
from fuzz_core.modelgen.gandalf.surgery import beside
from fuzz_core.modelgen.gandalf.table import Library, Operator, Precision

# Operators that a graph gets besides its own, for the relations that were asked least.
ADDED = 2
# A relation waits as long as it has been asked so many times as often as the one asked least, and so many times more.
TIMES, AHEAD = 2, 4


class Asks(NamedTuple):
    """The relations that a graph is asked."""

    precision: Precision
    through: Mapping[Library, Mapping[int, Relation]]  # by library, and by the number of the node
    between: bool = False  # whether a relation compares a library with other libraries too
    further: bool = True  # whether other checks follow
    rewarded: GandalfOptions | None = None  # the options with the weights of equation 3; None: nodes get no reward

    def within(self, nodes: int) -> Asks:
        """Return the relations of the first nodes of the graph."""
        through = {library: {at: of for at, of in each.items() if at < nodes} for library, each in self.through.items()}
        return self._replace(through=through)


class Schedule:
    """Counts a relation when it is planned, so that a relation that a library refuses delays no other relation.

    Attributes:
        adding: whether graphs get added operators. If they do not, no relation waits for one that hardly ever applies.
        asked: how often each relation was planned that applies to any operator in any of the libraries.
    """

    def __init__(
        self, table: Mapping[str, Operator], libraries: Collection[Library], rng: Rng, adding: bool = True
    ) -> None:
        self.table, self.libraries, self.rng, self.adding = table, tuple(libraries), rng, adding
        shared = [each for each in table.values() if set(libraries) <= set(each.spelled)]
        self.applying = {
            number: {each.name for each in shared if any(relation.applies_to(each, of) for of in self.libraries)}
            for number, relation in RELATIONS.items()
        }
        self.asked = Counter({number: 0 for number, names in self.applying.items() if names})

    def extended(self, graph: Graph, grammar: Grammar, seed: int) -> Graph:
        """Return the graph with operators on data of their own for the relations that were asked least, if `adding`."""
        fitting = {
            name: each
            for name, each in grammar.operators.items()
            if not set(self.libraries) & set(each.wrong) and not each.coarse
        }
        wanted = [number for number in self._ranked(self.asked) if self.applying[number] & set(fitting)]
        for number in wanted[: ADDED if self.adding else 0]:
            operator = fitting[self.rng.choice(sorted(self.applying[number] & set(fitting)))]
            constant = float(bool(RELATIONS[number].constants(operator)))
            try:
                graph = beside(graph, alone(operator, derive(seed, number), GraphOptions(constant=constant)))
            except ShapeError:
                continue
        return graph

    def asks(self, graph: Graph) -> Asks:
        """Return for each node and library the applicable relation that was asked least, unless it has to wait."""
        precision = self.rng.choice(PRECISIONS)
        through: dict[Library, dict[int, Relation]] = {library: {} for library in self.libraries}
        # Added operators are the last nodes, and come first.
        for place in reversed(range(len(graph.nodes))):
            for library in self.libraries:
                if fitting := self._fitting(graph, place, library, precision):
                    number = self._ranked(fitting)[0]
                    self.asked[number] += 1
                    through[library][place] = RELATIONS[number]
        return Asks(precision, through)

    def _fitting(self, graph: Graph, place: int, library: Library, precision: Precision) -> list[int]:
        node, most = graph.nodes[place], TIMES * min(self.asked.values(), default=0) + AHEAD
        operator = self.table[node.operator]
        return [
            number
            for number, times in self.asked.items()
            if (times <= most or not self.adding)
            and precision in RELATIONS[number].precisions
            and RELATIONS[number].applies_to(operator, library)
            and set(RELATIONS[number].constants(operator)) <= set(node.constants)
        ]

    def _ranked(self, numbers: Collection[int]) -> list[int]:
        """Return relations by how often they were asked, the least first; equals are in random order."""
        return sorted(numbers, key=lambda number: (self.asked[number], self.rng.random()))
