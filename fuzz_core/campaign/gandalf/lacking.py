"""Operators that a build does not have, or never takes: they are left out, and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.libraries import WRITINGS
from fuzz_core.modelgen.gandalf.naming import paths_in
from fuzz_core.modelgen.gandalf.table import Library

# As often a library may refuse an operator that it has never taken.
PATIENCE = 2
_PROGRAM = """{start}

def has(path):
    try:
        eval(path)
    except AttributeError:
        return False
    return True

results = {{0: np.array([has(each) for each in {paths}])}}
"""


@dataclass
class Takings:
    """What libraries have taken and refused so far. refused: by library and operator."""

    taken: set[tuple[Library, str]] = field(default_factory=set)
    refused: Counter[tuple[Library, str]] = field(default_factory=Counter)

    def note(self, graph: Graph, libraries: Set[Library], failing: Mapping[Library, int]) -> None:
        """What became of a graph. failing: the nodes with which some of the libraries failed."""
        for library in libraries:
            most = failing.get(library, len(graph.nodes))
            self.taken.update((library, node.operator) for node in graph.nodes[:most])
        self.refused.update((library, graph.nodes[place].operator) for library, place in failing.items())

    def add(self, other: Takings) -> None:
        """Counts what another one counted."""
        self.taken |= other.taken
        self.refused += other.refused

    @property
    def lacking(self) -> set[str]:
        """The operators that some library never takes."""
        return {
            operator
            for (library, operator), times in self.refused.items()
            if times >= PATIENCE and (library, operator) not in self.taken
        }


def absent(sides: Sides) -> dict[Library, set[str]]:
    """The operators of which a build does not have every name in the spelling; none where it does not say."""
    found = {}
    for library in sides.sides:
        needed = {
            name: paths_in(each.spelled[library], library)
            for name, each in sides.table.items()
            if library in each.spelled
        }
        paths = sorted(set[str]().union(*needed.values()))
        start = WRITINGS[library].start.format(precision="float64")
        came = sides.executed({library: _PROGRAM.format(start=start, paths=paths)})[library]
        has = came[0].ravel().tolist() if isinstance(came, Mapping) else [True] * len(paths)
        missing = {path for path, there in zip(paths, has, strict=True) if not there}
        found[library] = {name for name, each in needed.items() if each & missing}
    return found
