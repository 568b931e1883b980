"""Operators that the fuzz leaves out and reports: a build lacks them, never takes them, or fails with them often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.libraries import WRITINGS
from fuzz_core.modelgen.gandalf.public_names import paths_in
from fuzz_core.modelgen.gandalf.table import Library

# As often a library may refuse an operator that it has never taken.
PATIENCE = 2
# An operator that a library takes is left out after so many failures, if they are so large a share of its executions.
# More failures would show no new bug, and each death costs a process that has imported the library.
ENOUGH, SHARE = 8, 0.1
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
class OperatorOutcomes:
    """How often libraries have taken operators so far, refused them, or failed with them: by library and operator."""

    taken: Counter[tuple[Library, str]] = field(default_factory=Counter)
    refused: Counter[tuple[Library, str]] = field(default_factory=Counter)
    failed: Counter[tuple[Library, str]] = field(default_factory=Counter)

    def note(
        self, graph: Graph, libraries: Set[Library], failing: Mapping[Library, int], crashed: bool = False
    ) -> None:
        """Count the operators that libraries took in a graph, and those that they refused or failed with.

        Args:
            failing: the nodes with which some of the libraries failed.
            crashed: whether any of them failed by more than a refusal.
        """
        for library in libraries:
            most = failing.get(library, len(graph.nodes))
            self.taken.update((library, node.operator) for node in graph.nodes[:most])
        counted = self.failed if crashed else self.refused
        counted.update((library, graph.nodes[place].operator) for library, place in failing.items())

    def add(self, other: OperatorOutcomes) -> None:
        """Count what another one counted."""
        self.taken += other.taken
        self.refused += other.refused
        self.failed += other.failed

    @property
    def left_out(self) -> set[str]:
        """The operators that some library never takes, or fails with so often that more tries would show no new bug."""
        return {operator for _, operator in filter(self._is_hopeless, self.refused + self.failed)}

    def _is_hopeless(self, each: tuple[Library, str]) -> bool:
        bad, good = self.refused[each] + self.failed[each], self.taken[each]
        return (self.refused[each] >= PATIENCE and not good) or (bad >= ENOUGH and bad >= SHARE * (bad + good))


def absent(sides: Sides) -> dict[Library, set[str]]:
    """Return the operators of which a build lacks a name in the spelling; none if the build does not answer."""
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
