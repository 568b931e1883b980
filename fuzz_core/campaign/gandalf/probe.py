"""Ways to compute the last node of a graph, each with what its result has to agree with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from fuzz_core.campaign.gandalf.disagreement import (
    TIMES,
    Disagreement,
    between,
    bound,
    disagreements,
    error,
    moderate,
    nudged_graph,
    precision_loss,
    suspicious,
)
from fuzz_core.campaign.gandalf.sides import DOUBLE, SINGLE, Answer, Runs, Sides, failures, results_at, results_of
from fuzz_core.execution.replay import Array
from fuzz_core.ir.outcome import Outcome
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, shaped, tensors_of
from fuzz_core.modelgen.gandalf.relations import Relation
from fuzz_core.modelgen.gandalf.renderer import compiling, loss_nodes, training, variables, written
from fuzz_core.modelgen.gandalf.scripts import ALONE, COMPILED, GRADIENT, RESULT, REWRITTEN
from fuzz_core.modelgen.gandalf.surgery import above, row, rows
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

    def __init__(self, sides: Sides) -> None:
        self.sides = sides

    @abstractmethod
    def disagreement(self, graph: Graph) -> Disagreement | None:
        """Return what is wrong with the last node of a graph; None if it is right, or if it has no result."""

    @abstractmethod
    def snippet(self, graph: Graph, wrong: Disagreement) -> Snippet:
        """Return the program that computes the last node in this way."""

    def witnesses(self, wrong: Disagreement) -> str:
        """Return who contradicts, in words."""
        names = " and ".join(self.sides.sides[each].name for each in wrong.witnesses)
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


def first_fault(probe: Probe, graphs: Iterable[Graph], place: int, like: Disagreement | None = None) -> Fault | None:
    """Return the fault of a node in the first of these graphs that shows it.

    Args:
        probe: the way to compute the graphs.
        graphs: graphs that end with the node.
        place: the node's number in the whole graph.
        like: the disagreement that is looked for, by its library and precision; None for any.
    """
    for graph in graphs:
        wrong = probe.disagreement(graph)
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

    def every(self, graph: Graph) -> dict[int, Disagreement]:
        """Return by node the disagreements of libraries; empty if one of them does not take the graph."""
        runs, moved = self.sides.runs(graph), self.sides.runs(nudged_graph(graph))
        if not isinstance(runs, Runs) or not isinstance(moved, Runs):
            return {}
        return disagreements(runs, moved, self.sides.precisions(graph))

    def disagreement(self, graph: Graph) -> Disagreement | None:
        """See `Probe`."""
        return self.every(graph).get(graph.last)

    def snippet(self, graph: Graph, wrong: Disagreement) -> Snippet:
        """See `Probe`."""
        return Snippet(
            written(graph, self.sides.table, wrong.wrong, wrong.precision), f"n{graph.last}.numpy()", wrong.at
        )


class LossProbe(ResultProbe):
    """Double precision that is only as good as single precision in some library."""

    name = "double precision"

    def disagreement(self, graph: Graph) -> Disagreement | None:
        """See `Probe`."""
        double, moved = (results_of(self.sides.run(each, DOUBLE)) for each in (graph, nudged_graph(graph)))
        if not len(double) == len(moved) == len(self.sides.sides):
            return None
        known = [each for each in self.sides.table[graph.operators[-1]].loses if each in double]
        return precision_loss(results_at(double, graph.last), results_at(moved, graph.last), known)


class GradientProbe(Probe):
    """The gradients of a step of training, beside other libraries (beyond the paper)."""

    name, said = "training", GRADIENT

    def variables(self, graph: Graph) -> list[str]:
        """Return what a graph can be trained on in all libraries."""
        return variables(graph, self.sides.table, list(self.sides.sides)) if loss_nodes(graph, self.sides.table) else []

    def runs(self, graph: Graph) -> Runs | dict[Library, Outcome]:
        """Return gradients by the place of their variable, or how those libraries ended that have none.

        Gradients are computed in double precision alone: an operator that rounds too much does so in its results as
        well.
        """
        names = self.variables(graph)
        answers = self.sides.trained(graph, names) if names else {}
        results = results_of(answers)
        return failures(answers) or (Runs(results, results) if answers else {})

    def suspicious(self, graph: Graph, gradients: Runs) -> bool:
        """Return whether gradients are further apart than rounding brings one operator."""
        return suspicious(gradients, self._best(graph, gradients))

    def disagreement(self, graph: Graph) -> Disagreement | None:
        """See `Probe`: the first variable whose gradient is further apart than a nudge of the data explains."""
        runs = self.runs(graph)
        moved = self.runs(nudged_graph(graph)) if isinstance(runs, Runs) else runs
        if not isinstance(runs, Runs) or not isinstance(moved, Runs):
            return None
        found = disagreements(runs, moved, self._best(graph, runs))
        return found[min(found)]._replace(variable=self.variables(graph)[min(found)]) if found else None

    def snippet(self, graph: Graph, wrong: Disagreement) -> Snippet:
        """See `Probe`."""
        program = training(graph, self.sides.table, wrong.wrong, wrong.precision, [wrong.variable])
        return Snippet(program, "gradients[0].numpy()", wrong.at)

    def origin(self, wrong: Disagreement) -> str:
        """See `Probe`."""
        return f"{super().origin(wrong)}, the gradient of {wrong.variable}"

    def _best(self, graph: Graph, gradients: Runs) -> dict[int, Precision]:
        """Return for each variable, if every library has its gradient, the precision that all nodes have."""
        least = SINGLE if SINGLE in self.sides.precisions(graph).values() else DOUBLE
        every = [set(each) for results in gradients for each in results.values()]
        return dict.fromkeys(sorted(set.intersection(*every)), least)


class OwnProbe(Probe):
    """Another way in one library, which has to give what the plain way gives there, or in another library."""

    where: str  # how the right result is computed, in words
    reference: Precision  # the precision of the plain result
    shapes = True  # whether a result of another shape is wrong

    def __init__(self, sides: Sides, library: Library, precision: Precision, against: Library | None = None) -> None:
        """Compare one way to compute a graph in a library with the plain way.

        Args:
            against: the library whose plain result is the reference; None for the same library.
        """
        super().__init__(sides)
        self.library, self.precision, self.reference = library, precision, precision
        self.against = against or library

    @abstractmethod
    def result(self, graph: Graph, precision: Precision) -> Array | None:
        """Return the last node's result in this way; None if the library does not take it."""

    def disagreement(self, graph: Graph) -> Disagreement | None:
        """See `Probe`: a result that is off by more than a nudge explains."""
        graphs = (graph, nudged_graph(graph))
        plain, nudged = (self._plain(each, self.reference, self.against) for each in graphs)
        other = self.result(graph, self.precision)
        if plain is None or nudged is None or other is None or not moderate([plain]):
            return None
        if plain.shape != other.shape and not self.shapes:
            return None
        single = self.library in self.sides.table[graph.operators[-1]].coarse
        most, far = bound(SINGLE if single else self.reference, plain, nudged), error(plain, other)
        if far <= most or (self.precision == SINGLE and far <= self._rounding(graph)):
            return None
        return between(self.library, self.precision, (), True, other, plain, most)

    def witnesses(self, wrong: Disagreement) -> str:
        """See `Probe`."""
        name = "this library" if self.against == self.library else self.sides.sides[self.against].name
        return f"{name}, where {self.where}"

    def origin(self, wrong: Disagreement) -> str:
        """See `Probe`."""
        return f", where {self.where}"

    def _plain(self, graph: Graph, precision: Precision, library: Library) -> Array | None:
        return _last_of(self.sides.answer(graph, precision, library), graph)

    def _rounding(self, graph: Graph) -> float:
        """Return how far rounding alone may bring this way off in single precision.

        That is as much more than in double precision as single rounds coarser. More than the result is no rounding.
        """
        if SINGLE in self.sides.precisions(graph).values():
            return 0.0
        plain, other = self._plain(graph, DOUBLE, self.library), self.result(graph, DOUBLE)
        most = 0.0 if plain is None or other is None else TIMES * COARSER * error(plain, other)
        return most if most <= 1.0 else 0.0


class RewriteProbe(OwnProbe):
    """Computation of a node by a relation of table 4."""

    said = REWRITTEN

    def __init__(
        self, sides: Sides, library: Library, precision: Precision, relation: Relation, against: Library | None = None
    ) -> None:
        """See `OwnProbe`."""
        super().__init__(sides, library, precision, against)
        self.relation, self.reference = relation, relation.reference or precision
        self.name = f"relation {relation.number}"
        self.where = f"{self.name} does not rewrite it: {relation.statement}"

    def result(self, graph: Graph, precision: Precision) -> Array | None:
        """See `OwnProbe`."""
        return _last_of(self.sides.answer(graph, precision, self.library, {graph.last: self.relation}), graph)

    def snippet(self, graph: Graph, wrong: Disagreement) -> Snippet:
        """See `Probe`.

        The plain way runs first, as it did in the search: a state that the library keeps may be the fault.
        """
        plain = written(graph, self.sides.table, self.library, self.precision)
        rewritten = written(graph, self.sides.table, self.library, self.precision, {graph.last: self.relation})
        same = takewhile(lambda pair: pair[0] == pair[1], zip(plain, rewritten, strict=False))
        array = f"n{graph.last}.numpy()"
        return Snippet([*plain, array, "", *rewritten[len(list(same)) :]], array, wrong.at)


class CompiledProbe(OwnProbe):
    """As a compiled function."""

    said, where, name = COMPILED, "it is not compiled", "compiled"

    def result(self, graph: Graph, precision: Precision) -> Array | None:
        """See `OwnProbe`."""
        return _last_of(self.sides.compiled(graph, precision, [self.library])[self.library], graph)

    def snippet(self, graph: Graph, wrong: Disagreement) -> Snippet:
        """See `Probe`."""
        program = compiling(graph, self.sides.table, self.library, self.precision)
        return Snippet(program, f"made[{graph.last}].numpy()", wrong.at)


class RowByRow(OwnProbe):
    """Computation of each row of a batch alone, for a graph of one operator that has rows, see `rows`."""

    said, where, name = ALONE, "the row is one of a batch", "row by row"
    shapes = False  # a result without the rows of the batch is none of them

    def result(self, graph: Graph, precision: Precision) -> Array | None:
        """See `OwnProbe`."""
        answer = self.sides.answer(rows(graph, self.sides.table), precision, self.library)
        return np.concatenate([answer[place] for place in sorted(answer)]) if isinstance(answer, Mapping) else None

    def snippet(self, graph: Graph, wrong: Disagreement) -> Snippet:
        """See `Probe`."""
        alone = row(graph, self.sides.table, wrong.at[0])
        return Snippet(written(alone, self.sides.table, self.library, self.precision), "n0.numpy()", (0, *wrong.at[1:]))


def _last_of(answer: Answer, graph: Graph) -> Array | None:
    return answer[graph.last] if isinstance(answer, Mapping) else None
