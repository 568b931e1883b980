"""The libraries that are compared, each with a build in an environment of its own and a process that runs programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from fuzz_core.campaign.session import Session
from fuzz_core.execution.replay import Replayer, Results
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.outcome import Outcome
from fuzz_core.modelgen.gandalf.again import compiling, results, training
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.relations import Relation
from fuzz_core.modelgen.gandalf.renderer import render
from fuzz_core.modelgen.gandalf.table import Library, Operator, Precision

DOUBLE: Precision = "float64"
SINGLE: Precision = "float32"
PRECISIONS: tuple[Precision, ...] = (DOUBLE, SINGLE)
# A graph computes with a few thousand numbers; what takes longer compiles them.
TIMEOUT = 60.0
# The results of a graph by node, or how the program ended instead.
Answer = Results | Outcome


class Runs(NamedTuple):
    """The results of a graph in both precisions, by library."""

    double: Mapping[Library, Results]
    single: Mapping[Library, Results]

    def of(self, precision: Precision) -> Mapping[Library, Results]:
        """Return the results in this precision."""
        return self.double if precision == DOUBLE else self.single


class Side(NamedTuple):
    """A library at work: the session on its build, and the process."""

    library: Library
    session: Session
    replayer: Replayer

    @property
    def name(self) -> str:
        """The build, as people call it."""
        return f"{self.library} {self.session.target.version}"


class Sides:
    """The libraries at work, whose programs run side by side.

    The object is a context manager.
    """

    def __init__(
        self, sessions: Mapping[Library, Session], table: Mapping[str, Operator], plans: Mapping[Library, Path]
    ):
        self.table = table
        self.zygotes = [
            Zygote(each.target.python, library, "fuzz", plans[library], each.stopped)
            for library, each in sessions.items()
        ]
        replayers = [Replayer(zygote, TIMEOUT) for zygote in self.zygotes]
        pairs = zip(sessions.items(), replayers, strict=True)
        self.sides = {library: Side(library, session, replayer) for (library, session), replayer in pairs}
        self.threads = ThreadPoolExecutor(len(self.sides), "gandalf")

    def run(
        self,
        graph: Graph,
        precision: Precision,
        libraries: Sequence[Library] = (),
        through: Mapping[Library, Mapping[int, Relation]] = {},
    ) -> dict[Library, Answer]:
        """Return the results of the graph in each of these libraries, or in all.

        Args:
            through: the relations that rewrite nodes, by library, see `render`.
        """
        wanted = libraries or list(self.sides)
        return self.executed(
            {each: render(graph, self.table, each, precision, through.get(each, {})) for each in wanted}
        )

    def runs(self, graph: Graph) -> Runs | dict[Library, Outcome]:
        """Return the results in both precisions, or how those libraries ended that gave none."""
        double = self.run(graph, DOUBLE)
        if ended := failures(double):
            return ended
        single = self.run(graph, SINGLE)
        return failures(single) or Runs(results_of(double), results_of(single))

    def precisions(self, graph: Graph) -> dict[int, Precision]:
        """Return for each node the best precision that all libraries have it in."""
        single = [set(self.table[node.operator].coarse) & set(self.sides) for node in graph.nodes]
        return {place: SINGLE if each else DOUBLE for place, each in enumerate(single)}

    def trained(
        self, graph: Graph, precision: Precision, trained: Sequence[str], libraries: Sequence[Library] = ()
    ) -> dict[Library, Answer]:
        """Return the gradients of a step of training by library and place of the variable; see `again.training`."""
        return self.executed(
            {
                each: "\n".join([*training(graph, self.table, each, precision, trained), results("gradients")])
                for each in libraries or self.sides
            }
        )

    def compiled(self, graph: Graph, precision: Precision, libraries: Sequence[Library] = ()) -> dict[Library, Answer]:
        """Return the results of the graph if its model is compiled as a function."""
        return self.executed(
            {
                each: "\n".join([*compiling(graph, self.table, each, precision), results("made")])
                for each in libraries or self.sides
            }
        )

    def executed(self, programs: Mapping[Library, str]) -> dict[Library, Answer]:
        """Return the results of programs that leave `results`."""
        futures = {
            library: self.threads.submit(self.sides[library].replayer.results, program)
            for library, program in programs.items()
        }
        return {library: future.result() for library, future in futures.items()}

    def close(self) -> None:
        """End all processes."""
        self.threads.shutdown()
        for side in self.sides.values():
            side.replayer.close()
        for zygote in self.zygotes:
            zygote.close()

    def __enter__(self) -> Sides:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def failures(answers: Mapping[Library, Answer]) -> dict[Library, Outcome]:
    """Return how those libraries ended that gave no results."""
    return {library: each for library, each in answers.items() if isinstance(each, Outcome)}


def results_of(answers: Mapping[Library, Answer]) -> dict[Library, Results]:
    """Return the results of those libraries that gave some."""
    return {library: each for library, each in answers.items() if not isinstance(each, Outcome)}
