"""Ways to compute the last node of a graph, each with what its result has to agree with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.disagreement import (
    Disagreement,
    between,
    data_of,
    disagreements,
    nudged_graph,
    precision_loss,
    suspicious,
)
from fuzz_core.campaign.gandalf.distance import TIMES, bound, error, moderate
from fuzz_core.campaign.gandalf.sides import DOUBLE, SINGLE, Answer, Runs, Sides, failures, results_of
from fuzz_core.execution.replay import Array
from fuzz_core.ir.outcome import Outcome
from fuzz_core.modelgen.gandalf.again import compiling, loss_nodes, training, variables
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, shaped, tensors_of
from fuzz_core.modelgen.gandalf.relations import Relation
from fuzz_core.modelgen.gandalf.renderer import written
from fuzz_core.modelgen.gandalf.rows import row, rows
from fuzz_core.modelgen.gandalf.scripts import ALONE, COMPILED, GRADIENT, RESULT, REWRITTEN
from fuzz_core.modelgen.gandalf.shapes import TensorShape
from fuzz_core.modelgen.gandalf.surgery import above
from fuzz_core.modelgen.gandalf.table import Library, Operator, Precision

# Single precision rounds coarser than double precision by this factor.
COARSER = 2.0**29
# So many draws of data are tried on an operator alone.
DRAWS = 3


class Snippet(NamedTuple):
    """A program of one library, and the expression in it of the array that has the wrong element, at `at`."""

    program: list[str]
    array: str
    at: tuple[int, ...]


class Probe(ABC):
    """A way to compute a graph, and the rule that says whether the result is right."""

    name: str  # under which reports count it
    said: str  # first words of the script's assertion, one of `scripts.SAID`

    @abstractmethod
    def disagreement(self, sides: Sides, graph: Graph) -> Disagreement | None:
        """Return what is wrong with the last node of a graph; None if it is right, or if it has no result."""

    @abstractmethod
    def snippet(self, graph: Graph, table: Mapping[str, Operator], wrong: Disagreement) -> Snippet:
        """Return the program that computes the last node in this way."""

    def witnesses(self, sides: Sides, wrong: Disagreement) -> str:
        """Return who contradicts, in words."""
        names = " and ".join(sides.sides[each].name for each in wrong.witnesses)
        if wrong.precision == SINGLE:
            return f"this library in double precision, and {names} in single"
        return names if wrong.decided else f"{names}; which of the two is right is not decided"

    def origin(self, wrong: Disagreement) -> str:
        """Return the end of a finding's origin, which begins with the operator: the precision and the evidence."""
        return f" in {wrong.precision}{'' if wrong.decided else ', undecided'}"


class Fault(NamedTuple):
    """The last node of a graph, which a probe found to be wrong."""

    graph: Graph
    wrong: Disagreement
    place: int  # number of the node in the whole graph
    probe: Probe


def first_fault(
    sides: Sides, probe: Probe, graphs: Iterable[Graph], place: int, like: Disagreement | None = None
) -> Fault | None:
    """Return the fault of a node in the first of these graphs that shows it.

    Args:
        sides: the libraries.
        probe: the way to compute the graphs.
        graphs: graphs that end with the node.
        place: the node's number in the whole graph.
        like: the disagreement that is looked for, by its library and precision; None for any.
    """
    for graph in graphs:
        wrong = probe.disagreement(sides, graph)
        if wrong is not None and (like is None or (wrong.wrong, wrong.precision) == (like.wrong, like.precision)):
            return Fault(graph, wrong, place, probe)
    return None


def smaller(table: Mapping[str, Operator], graph: Graph, place: int) -> Iterator[Graph]:
    """Yield graphs whose data is drawn, which makes short scripts: the operator alone, and all that it depends on."""
    node, tensors = graph.nodes[place], tensors_of(graph, shaped(graph, table))
    alone = node.model_copy(update={"takes": tuple(f"x{role}" for role in range(len(node.takes)))})
    for seed in range(DRAWS):
        inputs = [
            GraphInput.model_validate({**tensors[name]._asdict(), "seed": seed * len(node.takes) + role})
            for role, name in enumerate(node.takes)
        ]
        yield Graph(inputs=tuple(inputs), nodes=(alone,))
    yield above(graph, place)


class ResultProbe(Probe):
    """Comparison of a graph's results, computed in the plain way, between libraries."""

    name, said = "results", RESULT

    def every(self, sides: Sides, graph: Graph) -> dict[int, Disagreement]:
        """Return by node the disagreements of libraries; empty if one of them does not take the graph."""
        runs, moved = sides.runs(graph), sides.runs(nudged_graph(graph))
        if not isinstance(runs, Runs) or not isinstance(moved, Runs):
            return {}
        return disagreements(runs, moved, sides.precisions(graph))

    def disagreement(self, sides: Sides, graph: Graph) -> Disagreement | None:
        """See `Probe`."""
        return self.every(sides, graph).get(len(graph.nodes) - 1)

    def snippet(self, graph: Graph, table: Mapping[str, Operator], wrong: Disagreement) -> Snippet:
        """See `Probe`."""
        return Snippet(written(graph, table, wrong.wrong, wrong.precision), _last(graph), wrong.at)


class LossProbe(ResultProbe):
    """Double precision that is only as good as single precision in some library."""

    name = "double precision"

    def disagreement(self, sides: Sides, graph: Graph) -> Disagreement | None:
        """See `Probe`."""
        place = len(graph.nodes) - 1
        double, moved = (results_of(sides.run(each, DOUBLE)) for each in (graph, nudged_graph(graph)))
        if not len(double) == len(moved) == len(sides.sides):
            return None
        known = [each for each in sides.table[graph.nodes[place].operator].loses if each in double]
        results, nudge = ({of: each[place] for of, each in found.items()} for found in (double, moved))
        return precision_loss(results, nudge, known)


class GradientProbe(Probe):
    """The gradients of a step of training, beside other libraries (beyond the paper)."""

    name, said = "training", GRADIENT

    def variables(self, sides: Sides, graph: Graph) -> list[str]:
        """Return what a graph can be trained on in all libraries."""
        return variables(graph, sides.table, list(sides.sides)) if loss_nodes(graph, sides.table) else []

    def runs(self, sides: Sides, graph: Graph) -> Runs | dict[Library, Outcome]:
        """Return gradients by the place of their variable, or how those libraries ended that have none.

        Gradients are computed in double precision alone: an operator that rounds too much does so in its results as
        well.
        """
        names = self.variables(sides, graph)
        answers = sides.trained(graph, DOUBLE, names) if names else {}
        results = results_of(answers)
        return failures(answers) or (Runs(results, results) if answers else {})

    def suspicious(self, sides: Sides, graph: Graph, gradients: Runs) -> bool:
        """Return whether gradients are further apart than rounding brings one operator."""
        return suspicious(gradients, self._best(sides, graph, gradients))

    def disagreement(self, sides: Sides, graph: Graph) -> Disagreement | None:
        """See `Probe`: the first variable whose gradient is further apart than a nudge of the data explains."""
        names, runs = self.variables(sides, graph), self.runs(sides, graph)
        if not isinstance(runs, Runs):
            return None
        moved = sides.trained(nudged_graph(graph), DOUBLE, names)
        if failures(moved):
            return None
        nudge = results_of(moved)
        found = disagreements(runs, Runs(nudge, nudge), self._best(sides, graph, runs))
        return found[min(found)]._replace(variable=names[min(found)]) if found else None

    def snippet(self, graph: Graph, table: Mapping[str, Operator], wrong: Disagreement) -> Snippet:
        """See `Probe`."""
        program = training(graph, table, wrong.wrong, wrong.precision, [wrong.variable])
        return Snippet(program, "gradients[0].numpy()", wrong.at)

    def origin(self, wrong: Disagreement) -> str:
        """See `Probe`."""
        return f"{super().origin(wrong)}, the gradient of {wrong.variable}"

    def _best(self, sides: Sides, graph: Graph, gradients: Runs) -> dict[int, Precision]:
        """Return for each variable, if every library has its gradient, the precision that all nodes have."""
        least = SINGLE if SINGLE in sides.precisions(graph).values() else DOUBLE
        every = [set(each) for results in gradients for each in results.values()]
        return dict.fromkeys(sorted(set.intersection(*every)), least)


class OwnProbe(Probe):
    """Another way in one library, which has to give what the plain way gives there, or in another library."""

    where: str  # how the right result is computed, in words
    reference: Precision  # the precision of the plain result
    shapes = True  # whether a result of another shape is wrong

    def __init__(self, library: Library, precision: Precision, against: Library | None = None) -> None:
        """Compare one way to compute a graph in a library with the plain way.

        Args:
            against: the library whose plain result is the reference; None for the same library.
        """
        self.library, self.precision, self.reference = library, precision, precision
        self.against = against or library

    @abstractmethod
    def result(self, sides: Sides, graph: Graph, precision: Precision) -> Array | None:
        """Return the last node's result in this way; None if the library does not take it."""

    def disagreement(self, sides: Sides, graph: Graph) -> Disagreement | None:
        """See `Probe`: a result that is off by more than a nudge explains."""
        graphs = (graph, nudged_graph(graph))
        plain, nudged = (self._plain(sides, each, self.reference, self.against) for each in graphs)
        other = self.result(sides, graph, self.precision)
        if plain is None or nudged is None or other is None or not moderate([plain]):
            return None
        if plain.shape != other.shape and not self.shapes:
            return None
        single = self.library in sides.table[graph.nodes[-1].operator].coarse
        most, far = bound(SINGLE if single else self.reference, plain, nudged), error(plain, other)
        if far <= most or (self.precision == SINGLE and far <= self._rounding(sides, graph)):
            return None
        return between(self.library, self.precision, (), True, other, plain, most)

    def witnesses(self, sides: Sides, wrong: Disagreement) -> str:
        """See `Probe`."""
        return (
            f"{'this library' if self.against == self.library else sides.sides[self.against].name}, where {self.where}"
        )

    def origin(self, wrong: Disagreement) -> str:
        """See `Probe`."""
        return f", where {self.where}"

    def _plain(self, sides: Sides, graph: Graph, precision: Precision, library: Library) -> Array | None:
        return _result(sides.run(graph, precision, [library])[library], len(graph.nodes) - 1)

    def _rounding(self, sides: Sides, graph: Graph) -> float:
        """Return how far rounding alone may bring this way off in single precision.

        That is as much more than in double precision as single rounds coarser. More than the result is no rounding.
        """
        if SINGLE in sides.precisions(graph).values():
            return 0.0
        plain, other = self._plain(sides, graph, DOUBLE, self.library), self.result(sides, graph, DOUBLE)
        most = 0.0 if plain is None or other is None else TIMES * COARSER * error(plain, other)
        return most if most <= 1.0 else 0.0


class RewriteProbe(OwnProbe):
    """Computation of a node by a relation of table 4."""

    said = REWRITTEN

    def __init__(
        self, library: Library, precision: Precision, relation: Relation, against: Library | None = None
    ) -> None:
        """See `OwnProbe`."""
        super().__init__(library, precision, against)
        self.relation, self.reference = relation, relation.reference or precision
        self.name = f"relation {relation.number}"
        self.where = f"{self.name} does not rewrite it: {relation.statement}"

    def result(self, sides: Sides, graph: Graph, precision: Precision) -> Array | None:
        """See `OwnProbe`."""
        place = len(graph.nodes) - 1
        through = {self.library: {place: self.relation}}
        return _result(sides.run(graph, precision, [self.library], through)[self.library], place)

    def snippet(self, graph: Graph, table: Mapping[str, Operator], wrong: Disagreement) -> Snippet:
        """See `Probe`.

        The plain way runs first, as it did in the search: a state that the library keeps may be the fault.
        """
        through = {len(graph.nodes) - 1: self.relation}
        plain = written(graph, table, self.library, self.precision)
        rewritten = written(graph, table, self.library, self.precision, through)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(plain, rewritten, strict=False))
        return Snippet([*plain, _last(graph), "", *rewritten[len(list(same)) :]], _last(graph), wrong.at)


class CompiledProbe(OwnProbe):
    """As a compiled function."""

    said, where, name = COMPILED, "it is not compiled", "compiled"

    def result(self, sides: Sides, graph: Graph, precision: Precision) -> Array | None:
        """See `OwnProbe`."""
        return _result(sides.compiled(graph, precision, [self.library])[self.library], len(graph.nodes) - 1)

    def snippet(self, graph: Graph, table: Mapping[str, Operator], wrong: Disagreement) -> Snippet:
        """See `Probe`."""
        program = compiling(graph, table, self.library, self.precision)
        return Snippet(program, f"made[{len(graph.nodes) - 1}].numpy()", wrong.at)


class RowByRow(OwnProbe):
    """Computation of each row of a batch alone, for a graph of one operator that has rows, see `rows`."""

    said, where, name = ALONE, "the row is one of a batch", "row by row"
    shapes = False  # a result without the rows of the batch is none of them

    def result(self, sides: Sides, graph: Graph, precision: Precision) -> Array | None:
        """See `OwnProbe`."""
        answer = sides.run(rows(graph, sides.table, _data(graph)), precision, [self.library])[self.library]
        return np.concatenate([answer[place] for place in sorted(answer)]) if isinstance(answer, Mapping) else None

    def snippet(self, graph: Graph, table: Mapping[str, Operator], wrong: Disagreement) -> Snippet:
        """See `Probe`."""
        alone = row(graph, table, _data(graph), wrong.at[0])
        return Snippet(written(alone, table, self.library, self.precision), "n0.numpy()", (0, *wrong.at[1:]))


def _result(answer: Answer, place: int) -> Array | None:
    return answer[place] if isinstance(answer, Mapping) else None


def _last(graph: Graph) -> str:
    return f"n{len(graph.nodes) - 1}.numpy()"


def _data(graph: Graph) -> list[tuple[TensorShape, Array]]:
    return [(TensorShape(each.shape, each.dtype), data_of(each)) for each in graph.inputs]
