"""The libraries that are compared, each with a build in an environment of its own and a process that runs programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from fuzz_core.campaign.plans import NO_SPACE, make_plan
from fuzz_core.campaign.session import Session
from fuzz_core.execution.replay import Array, Replayer, Results
from fuzz_core.execution.scratch import scratch, sweep
from fuzz_core.execution.zygote import Zygote
from fuzz_core.ir.outcome import Outcome
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.public_names import paths_in
from fuzz_core.modelgen.gandalf.relations import Relation
from fuzz_core.modelgen.gandalf.renderer import WRITINGS, compiling, render, training
from fuzz_core.modelgen.gandalf.table import Library, Operator, Precision

DOUBLE: Precision = "float64"
SINGLE: Precision = "float32"
PRECISIONS: tuple[Precision, ...] = (DOUBLE, SINGLE)
# A graph computes with a few thousand numbers; what takes longer compiles them.
TIMEOUT = 60.0
_PROGRAM = """{start}

def has(path):
    try:
        eval(path)
    except AttributeError:
        return False
    return True

results = {{0: np.array([has(each) for each in {paths}])}}
"""
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
    """The libraries at work, whose programs run side by side."""

    def __init__(
        self, sessions: Mapping[Library, Session], table: Mapping[str, Operator], plans: Mapping[Library, Path]
    ):
        self.table = table
        self.sides = dict[Library, Side]()
        for library, session in sessions.items():
            zygote = Zygote(session.target.python, library, "fuzz", plans[library], session.stopped)
            self.sides[library] = Side(library, session, Replayer(zygote, TIMEOUT))
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
        wanted = libraries or self.sides
        return self.executed({of: render(graph, self.table, of, precision, through.get(of, {})) for of in wanted})

    def answer(
        self, graph: Graph, precision: Precision, library: Library, through: Mapping[int, Relation] = {}
    ) -> Answer:
        """Return the results of the graph in one library; see `run`."""
        return self.run(graph, precision, [library], {library: through})[library]

    def runs(self, graph: Graph) -> Runs | dict[Library, Outcome]:
        """Return the results in both precisions, or how those libraries ended that gave none."""
        double = self.run(graph, DOUBLE)
        if ended := failures(double):
            return ended
        single = self.run(graph, SINGLE)
        return failures(single) or Runs(results_of(double), results_of(single))

    def precisions(self, graph: Graph) -> dict[int, Precision]:
        """Return for each node the best precision that all libraries have it in."""
        coarse = [self.table[name].coarse.keys() & self.sides.keys() for name in graph.operators]
        return {place: SINGLE if each else DOUBLE for place, each in enumerate(coarse)}

    def trained(self, graph: Graph, trained: Sequence[str], libraries: Sequence[Library] = ()) -> dict[Library, Answer]:
        """Return the gradients of a step of training in double precision by library and place of the variable."""
        wanted = libraries or self.sides
        return self._listed("gradients", {of: training(graph, self.table, of, DOUBLE, trained) for of in wanted})

    def compiled(self, graph: Graph, precision: Precision, libraries: Sequence[Library] = ()) -> dict[Library, Answer]:
        """Return the results of the graph if its model is compiled as a function."""
        wanted = libraries or self.sides
        return self._listed("made", {of: compiling(graph, self.table, of, precision) for of in wanted})

    def _listed(self, name: str, programs: Mapping[Library, Sequence[str]]) -> dict[Library, Answer]:
        """Return the arrays of a list of tensors in programs, without None."""
        results = f"results = {{place: each.numpy() for place, each in enumerate({name}) if each is not None}}"
        return self.executed({library: "\n".join([*lines, results]) for library, lines in programs.items()})

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
            side.replayer.zygote.close()


@contextmanager
def sides_of(sessions: Mapping[Library, Session], table: Mapping[str, Operator], seed: int) -> Iterator[Sides]:
    """Yield processes of all libraries, for as long as the context lasts."""
    sweep()
    with scratch() as folder:
        plans = {library: folder / f"{library}.jsonl" for library in sessions}
        for library, each in sessions.items():
            make_plan(each, plans[library], (), seed=seed, space=NO_SPACE)
        with closing(Sides(sessions, table, plans)) as sides:
            yield sides


def failures(answers: Mapping[Library, Answer]) -> dict[Library, Outcome]:
    """Return how those libraries ended that gave no results."""
    return {library: each for library, each in answers.items() if isinstance(each, Outcome)}


def results_of(answers: Mapping[Library, Answer]) -> dict[Library, Results]:
    """Return the results of those libraries that gave some."""
    return {library: each for library, each in answers.items() if not isinstance(each, Outcome)}


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


def results_at(results: Mapping[Library, Results], place: int) -> dict[Library, Array]:
    """Return the result of a node in each library."""
    return {library: each[place] for library, each in results.items()}
