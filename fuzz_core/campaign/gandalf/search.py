"""Search for the wrong node of a graph: each probe is asked, and its fault shown in a small graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice

from fuzz_core.campaign.gandalf.disagreement import BOUNDS, LOSS, between, bound, error, moderate, nudged_graph
from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.gandalf.finding import Finding, crash, is_crash
from fuzz_core.campaign.gandalf.probe import (
    CompiledProbe,
    Fault,
    GradientProbe,
    LossProbe,
    ResultProbe,
    RewriteProbe,
    RowByRow,
    first_fault,
    smaller,
)
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.sides import DOUBLE, SINGLE, Runs, Sides, results_at
from fuzz_core.execution.replay import Array
from fuzz_core.ir.outcome import Outcome
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.graph import Graph, shaped, tensors_of
from fuzz_core.modelgen.gandalf.relations import Relation
from fuzz_core.modelgen.gandalf.renderer import training, written
from fuzz_core.modelgen.gandalf.scripts import printing
from fuzz_core.modelgen.gandalf.shapes import TensorShape
from fuzz_core.modelgen.gandalf.surgery import above, apart, batched
from fuzz_core.modelgen.gandalf.table import Library, Precision

# The number of nodes of a graph that are asked for a loss of precision: the nodes after a loss differ as well.
ASKED = 2


class FaultSearch:
    """A graph with the results that all libraries gave in both precisions; `report` counts what is asked."""

    def __init__(self, sides: Sides, graph: Graph, runs: Runs, report: GandalfReport) -> None:
        self.sides, self.graph, self.runs, self.report = sides, graph, runs, report
        self.ended: dict[Library, Outcome] = {}  # how libraries ended that did not run the rewritten graph

    @cached_property
    def tensors(self) -> Mapping[str, tuple[TensorShape, Array]]:
        """Every tensor of the graph, as the first library has it in double precision, by its name in programs."""
        return self._tensors(next(iter(self.runs.double)))

    def _tensors(self, library: Library) -> Mapping[str, tuple[TensorShape, Array]]:
        made = tensors_of(self.graph, shaped(self.graph, self.sides.table))
        arrays = [
            *(each.array for each in self.graph.inputs),
            *(
                self._result(library, place, tensor)
                for place, tensor in enumerate([*made.values()][-len(self.graph.nodes) :])
            ),
        ]
        return {name: (tensor, array) for (name, tensor), array in zip(made.items(), arrays, strict=True)}

    def _result(self, library: Library, place: int, tensor: TensorShape) -> Array:
        """Return the result of a node in a library, or in another one if the library gives it a wrong shape."""
        results = results_at(self.runs.double, place)
        ranked = [results[library], *results.values()]
        return next((each for each in ranked if each.shape == tensor.shape), results[library])

    @cached_property
    def places(self) -> list[int]:
        """The nodes that take elements, all of a magnitude that models compute with and of the shape of the table."""
        taken = [[self.tensors[name] for name in node.takes] for node in self.graph.nodes]
        return [
            place
            for place, each in enumerate(taken)
            if moderate([array for _, array in each])
            and all(array.size and array.shape == tensor.shape for tensor, array in each)
        ]

    def apart(self, *places: int, library: Library | None = None) -> Graph:
        """Return these nodes alone, each on what it took in the graph, in one library or in the first."""
        return apart(self.graph, places, self._tensors(library) if library else self.tensors)

    def smaller(self, place: int) -> Iterator[Graph]:
        """Yield small graphs that end with a node, see `probe.smaller`."""
        return smaller(self.sides.table, self.graph, place)

    def results(self) -> Fault | None:
        """Return the first operator that is off by itself, on what it took in the graph, or else behind other nodes.

        If there is none, the sum of many roundings brings results apart, or a nudge of the data moves them as far.
        """
        if not self.places:
            return None
        probe = ResultProbe(self.sides)
        found = probe.every(self.apart(*self.places))
        if not found:
            faults = [each for each in map(self._behind, self.runs.double) if each is not None]
            return min(faults, key=lambda each: each.place, default=None)
        place, wrong = self.places[min(found)], found[min(found)]
        small = first_fault(probe, self.smaller(place), place, wrong)
        return small or Fault(self.apart(place), wrong, place, probe)

    def _behind(self, library: Library) -> Fault | None:
        """Return the first node whose result in the graph is another than by itself, on the same data.

        Such a fault depends on the nodes before, for example on how they have left their results in memory. Data of
        programs is rounded, so a result at a tie or a step, which moves by either of two opposite nudges, is no fault.
        """
        alone = self.apart(*self.places, library=library)
        graphs = (alone, nudged_graph(alone), nudged_graph(alone, -1))
        answers = [self.sides.answer(each, DOUBLE, library) for each in graphs]
        plain, *moved = [each for each in answers if isinstance(each, Mapping)] or [{}]
        if len(moved) < 2:
            return None
        best = self.sides.precisions(self.graph)
        for at, place in enumerate(self.places):
            results = results_at(self.runs.double, place)
            most = max(bound(best[place], plain[at], each[at]) for each in moved)
            witnesses = tuple(of for of, each in results.items() if of != library and error(each, plain[at]) <= most)
            if witnesses and error(results[library], plain[at]) > most:
                wrong = between(library, DOUBLE, witnesses, True, results[library], results[witnesses[0]], most)
                return Fault(above(self.graph, place), wrong, place, ResultProbe(self.sides))
        return None

    def gradients(self, gradients: Runs) -> Fault | None:
        """Return the first operator whose gradient is off by itself, if those of the graph are apart."""
        probe = GradientProbe(self.sides)
        if not probe.suspicious(self.graph, gradients):
            return None
        for place in self.places:
            # Each node is trained alone, so that a node without a gradient does not hide the gradients of others.
            fault = first_fault(probe, [self.apart(place)], place)
            if fault is not None:
                return first_fault(probe, self.smaller(place), place, fault.wrong) or fault
        return None

    def losses(self) -> Iterator[Fault]:
        """Yield the operators that lose precision on drawn data.

        Nodes whose results agree closely are not asked.
        """
        first, *others = self.runs.double.values()
        distant = (
            place
            for place in self.places
            if any(error(first[place], other[place]) > LOSS for other in others)
            and not set(self.sides.table[self.graph.operators[place]].single) & set(self.sides.sides)
        )
        for place in islice(distant, ASKED):
            self.report.relations[LossProbe.name] += 1
            if (fault := first_fault(LossProbe(self.sides), islice(self.smaller(place), 1), place)) is not None:
                yield fault

    def rewritten(self, asks: Asks) -> Iterator[Fault]:
        """Yield for each library and relation the first node that does not hold it."""
        through = {library: each for library, each in asks.through.items() if each}
        answers = self.sides.run(self.graph, asks.precision, list(through), through) if through else {}
        for library, results in answers.items():
            if not isinstance(results, Mapping):
                self.ended[library] = results
                continue
            self.report.relations.update(_names(through[library]))
            against = [library, *(each for each in self.sides.sides if asks.between and each != library)]
            broken = set[int]()
            for place, relation in sorted(through[library].items()):
                if relation.number in broken:
                    continue
                probes = [RewriteProbe(self.sides, library, asks.precision, relation, other) for other in against]
                faults = (
                    first_fault(each, [above(self.graph, place)], place)
                    for each in probes
                    if error(self.runs.of(each.reference)[each.against][place], results[place]) > BOUNDS[each.reference]
                )
                if (fault := next(filter(None, faults), None)) is not None:
                    yield fault
                    broken.add(relation.number)

    def rewriting_crashes(self, asks: Asks) -> Iterator[tuple[Library, Finding]]:
        """Yield the first node of each library that dies of a relation, of libraries that `rewritten` notes.

        A relation that a library refuses is counted.
        """
        for library, outcome in self.ended.items():
            through = asks.through[library]
            if not is_crash(self.sides, library, outcome):
                self.report.refused[f"{library} {' or '.join(sorted(set(_names(through))))}"] += 1
                continue
            self.report.relations.update(_names(through))
            found = (self._rewriting_crash(library, at, through[at], asks.precision) for at in sorted(through))
            yield from islice(filter(None, found), 1)

    def _rewriting_crash(
        self, library: Library, place: int, relation: Relation, precision: Precision
    ) -> tuple[Library, Finding] | None:
        small = above(self.graph, place)
        seen = self.sides.answer(small, precision, library, {small.last: relation})
        if not isinstance(seen, Outcome) or not is_crash(self.sides, library, seen):
            return None
        self.report.hits[f"relation {relation.number}"] += 1
        program = written(small, self.sides.table, library, precision, {small.last: relation})
        script = printing(program, f"n{small.last}.numpy()")
        where = f", where relation {relation.number} rewrites it"
        return crash(self.sides, self.graph, place, library, script, seen, where)

    def compiled(self, precision: Precision) -> Iterator[Fault]:
        """Yield the first node of each library whose result changes if the model is compiled as a function."""
        for library, results in self.sides.compiled(self.graph, precision).items():
            if not isinstance(results, Mapping):
                self.report.skipped[f"{library} compiled"] += 1
                continue
            self.report.relations[CompiledProbe.name] += 1
            plain, probe = self.runs.of(precision)[library], CompiledProbe(self.sides, library, precision)
            distant = [each for each in plain if error(plain[each], results[each]) > BOUNDS[precision]]
            faults = (first_fault(probe, self.smaller(place), place) for place in distant)
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
        probes = [RowByRow(self.sides, library, DOUBLE) for library in self.sides.sides]
        found = [first_fault(probe, [alone], place) for probe in probes]
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
        names = GradientProbe(self.sides).variables(alone)
        seen = self.sides.trained(alone, names, [library])[library] if names else None
        if not isinstance(seen, Outcome) or not is_crash(self.sides, library, seen):
            return None
        program = training(alone, self.sides.table, library, DOUBLE, names)
        script = printing(program, "[None if each is None else each.numpy() for each in gradients]")
        return crash(self.sides, self.graph, place, library, script, seen, ", where it is trained")

    def _rows(self, place: int) -> int:
        node = self.graph.nodes[place]
        return batched(self.sides.table[node.operator], node, [self.tensors[name][0] for name in node.takes])


def _names(through: Mapping[int, Relation]) -> list[str]:
    return [f"relation {relation.number}" for relation in through.values()]
