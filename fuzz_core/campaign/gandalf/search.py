"""Search for the wrong node of a graph: each probe is asked, and its fault shown in a small graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice

from fuzz_core.campaign.gandalf.crash import is_crash
from fuzz_core.campaign.gandalf.disagreement import LOSS, data_of
from fuzz_core.campaign.gandalf.distance import BOUNDS, error, moderate
from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.gandalf.finding import Finding, crash
from fuzz_core.campaign.gandalf.probe import (
    CompiledProbe,
    Fault,
    Gradients,
    Losses,
    Results,
    Rewritten,
    RowByRow,
    first_fault,
    smaller,
)
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.sides import DOUBLE, SINGLE, Runs, Sides
from fuzz_core.execution.replay import Array
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.again import training
from fuzz_core.modelgen.gandalf.graph import Graph, shaped, tensors_of
from fuzz_core.modelgen.gandalf.relations.contract import Relation
from fuzz_core.modelgen.gandalf.renderer import Precision
from fuzz_core.modelgen.gandalf.rows import batched
from fuzz_core.modelgen.gandalf.scripts import printing
from fuzz_core.modelgen.gandalf.shapes import TensorShape
from fuzz_core.modelgen.gandalf.surgery import above, apart
from fuzz_core.modelgen.gandalf.table import Library

# The number of nodes of a graph that are asked for a loss of precision: the nodes after a loss differ as well.
ASKED = 2


class FaultSearch:
    """A graph with the results that all libraries gave in both precisions; `report` counts what is asked."""

    def __init__(self, sides: Sides, graph: Graph, runs: Runs, report: GandalfReport) -> None:
        self.sides, self.graph, self.runs, self.report = sides, graph, runs, report

    @cached_property
    def tensors(self) -> Mapping[str, tuple[TensorShape, Array]]:
        """Every tensor of the graph, as the first library has it in double precision, by its name in programs."""
        results = next(iter(self.runs.double.values()))
        arrays = {f"x{place}": data_of(each) for place, each in enumerate(self.graph.inputs)}
        arrays |= {f"n{place}": results[place] for place in range(len(self.graph.nodes))}
        made = tensors_of(self.graph, shaped(self.graph, self.sides.table))
        return {name: (tensor, arrays[name]) for name, tensor in made.items()}

    @cached_property
    def places(self) -> list[int]:
        """The nodes that take elements, all of a magnitude that models compute with."""
        taken = [[self.tensors[name][1] for name in node.takes] for node in self.graph.nodes]
        return [place for place, each in enumerate(taken) if moderate(each) and all(array.size for array in each)]

    def apart(self, *places: int) -> Graph:
        """Return these nodes alone, each on what it took in the graph."""
        values = {name: (tensor, array.ravel().tolist()) for name, (tensor, array) in self.tensors.items()}
        return apart(self.graph, places, values)

    def smaller(self, place: int) -> Iterator[Graph]:
        """Yield small graphs that end with a node, see `probe.smaller`."""
        return smaller(self.sides.table, self.graph, place)

    def results(self) -> Fault | None:
        """Return the first operator that is off by itself, on what it took in the graph.

        If there is none, the sum of many roundings brings results apart, or a nudge of the data moves them as far.
        """
        probe = Results()
        found = probe.every(self.sides, self.apart(*self.places)) if self.places else {}
        if not found:
            return None
        place, wrong = self.places[min(found)], found[min(found)]
        small = first_fault(self.sides, probe, self.smaller(place), place, wrong)
        return small or Fault(self.apart(place), wrong, place, probe)

    def gradients(self, gradients: Runs) -> Fault | None:
        """Return the first operator whose gradient is off by itself, if those of the graph are apart."""
        probe = Gradients()
        if not probe.suspicious(self.sides, self.graph, gradients):
            return None
        for place in self.places:
            # Each node is trained alone, so that a node without a gradient does not hide the gradients of others.
            fault = first_fault(self.sides, probe, [self.apart(place)], place)
            if fault is not None:
                return first_fault(self.sides, probe, self.smaller(place), place, fault.wrong) or fault
        return None

    def losses(self) -> Iterator[Fault]:
        """Yield the operators that lose precision on drawn data. Nodes whose results agree closely are not asked."""
        first, *others = self.runs.double.values()
        distant = (
            place
            for place in self.places
            if any(error(first[place], other[place]) > LOSS for other in others)
            and not set(self.sides.table[self.graph.nodes[place].operator].single) & set(self.sides.sides)
        )
        for place in islice(distant, ASKED):
            self.report.relations[Losses.name] += 1
            if (fault := first_fault(self.sides, Losses(), islice(self.smaller(place), 1), place)) is not None:
                yield fault

    def rewritten(self, asks: Asks) -> Iterator[Fault]:
        """Yield the first node of each library that does not hold a relation."""
        through = {library: each for library, each in asks.through.items() if each}
        answers = self.sides.run(self.graph, asks.precision, list(through), through) if through else {}
        for library, results in answers.items():
            names = [f"relation {relation.number}" for relation in through[library].values()]
            if not isinstance(results, Mapping):
                self.report.refused[f"{library} {' or '.join(sorted(set(names)))}"] += 1
                continue
            self.report.relations.update(names)
            for place, relation in through[library].items():
                faults = (
                    first_fault(self.sides, probe, [above(self.graph, place)], place)
                    for probe in self._rewritten(library, relation, asks)
                    if self._is_distant(probe, place, results[place])
                )
                if (fault := next(filter(None, faults), None)) is not None:
                    yield fault
                    break

    def _rewritten(self, library: Library, relation: Relation, asks: Asks) -> Iterator[Rewritten]:
        """Yield the comparisons of a relation: with the same library and, if asked for, with each other library."""
        others = [each for each in self.sides.sides if each != library] if asks.between else []
        for other in (library, *others):
            yield Rewritten(library, asks.precision, relation, other)

    def _is_distant(self, probe: Rewritten, place: int, result: Array) -> bool:
        return error(self.runs.of(probe.reference)[probe.against][place], result) > BOUNDS[probe.reference]

    def compiled(self, precision: Precision) -> Iterator[Fault]:
        """Yield the first node of each library whose result changes if the model is compiled as a function."""
        for library, results in self.sides.compiled(self.graph, precision).items():
            if not isinstance(results, Mapping):
                self.report.skipped[f"{library} compiled"] += 1
                continue
            self.report.relations[CompiledProbe.name] += 1
            plain, probe = self.runs.of(precision)[library], CompiledProbe(library, precision)
            distant = [each for each in plain if error(plain[each], results[each]) > BOUNDS[precision]]
            faults = (first_fault(self.sides, probe, self.smaller(place), place) for place in distant)
            yield from islice(filter(None, faults), 1)

    def row_by_row(self, rng: Rng) -> list[Fault]:
        """Return the faults of one node whose rows, each alone, give another result in some libraries, but not in all.

        If they do in all libraries, the operator depends on the batch as a whole.
        """
        places = [place for place in self.places if self._rows(place) > 1]
        if not places:
            return []
        place = rng.choice(places)
        alone = self.apart(place)
        if SINGLE in self.sides.precisions(alone).values():
            return []
        self.report.relations[RowByRow.name] += 1
        probes = [RowByRow(library, DOUBLE) for library in self.sides.sides]
        found = [first_fault(self.sides, probe, [alone], place) for probe in probes]
        return list(filter(None, found)) if None in found else []

    def training_crashes(self, ended: Mapping[Library, Outcome]) -> Iterator[tuple[Library, Finding]]:
        """Yield what died of one operator's training, of libraries that gave no gradients; count all others."""
        for library, outcome in ended.items():
            if not is_crash(self.sides, library, outcome):
                self.report.skipped[f"{library} training"] += 1
                continue
            found = (self._training_crash(library, place) for place in self.places)
            yield from islice(filter(None, found), 1)

    def _training_crash(self, library: Library, place: int) -> tuple[Library, Finding] | None:
        alone = self.apart(place)
        names = Gradients().variables(self.sides, alone)
        seen = self.sides.trained(alone, DOUBLE, names, [library])[library] if names else None
        if not isinstance(seen, Outcome) or not is_crash(self.sides, library, seen):
            return None
        program = training(alone, self.sides.table, library, DOUBLE, names)
        script = printing(program, "[None if each is None else each.numpy() for each in gradients]")
        return crash(self.sides, self.graph, place, library, script, seen, ", where it is trained")

    def _rows(self, place: int) -> int:
        node = self.graph.nodes[place]
        return batched(self.sides.table[node.operator], node, [self.tensors[name][0] for name in node.takes])
