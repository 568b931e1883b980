"""How many generated graphs libraries take, and how fast: `python -m bench.graphs torch==2.13.0 --graphs 10000`.

The targets have to be there (`nightfuzz pull`). Each graph runs once in each, in double precision; nothing is compared.
As in a fuzz, operators are left out that a library never takes, or fails with again and again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from itertools import count, islice
from typing import Annotated, get_args

import typer

from bench.sides import sides
from fuzz_core.campaign.gandalf.engine import sides_of
from fuzz_core.campaign.gandalf.failing import first_failing
from fuzz_core.campaign.gandalf.findings import crashed
from fuzz_core.campaign.gandalf.lacking import Takings, absent
from fuzz_core.campaign.gandalf.looking import DOUBLE, failed
from fuzz_core.campaign.gandalf.ordering import order_of
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.campaign.session import Session
from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.gandalf.generation import Grammar, generate, grammar
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.table import Domain, Library, Operator, load

DOMAINS: tuple[Domain, ...] = get_args(Domain)


def main(
    specs: Annotated[list[str], typer.Argument(help="targets, one of each library")],
    graphs: Annotated[int, typer.Option(min=1, help="how many, the domains in turn")] = 1000,
    seed: Annotated[int, typer.Option(help="of the stream of graphs")] = 1,
    limit: Annotated[float, typer.Option(min=1, help="seconds after which fewer will do")] = float("inf"),
) -> None:
    """Prints the share that each library takes, what it does not, and graphs per second."""
    with sides(specs) as sessions, sides_of(sessions, table := load(), seed) as processes:
        stream = Stream(table, sessions, processes, seed)
        # Processes start, and Jittor compiles its first operators.
        processes.run(stream.graph(0), DOUBLE)
        generating, done, began = 0.0, 0, time.monotonic()
        for number in islice(count(), graphs):
            if (starting := time.monotonic()) - began > limit:
                break
            graph = stream.graph(number)
            generating += time.monotonic() - starting
            stream.execute(graph)
            done += 1
        seconds = time.monotonic() - began
    print(f"{done:,} graphs of {len(stream.operators)} operators in {seconds:.0f} s: {done / seconds:.1f} per second")
    print(f"  made in {generating:.0f} s of these")
    stream.tell(done)


class Stream:
    """Graphs as a fuzz makes them, the domains in turn, and what becomes of them."""

    def __init__(
        self, table: Mapping[str, Operator], sessions: Mapping[Library, Session], processes: Sides, seed: int
    ) -> None:
        self.table, self.sessions, self.processes, self.seed = table, sessions, processes, seed
        self.order = order_of(table, sessions)
        self.missing = set[str]().union(*absent(processes).values())
        self.left_out = self.missing
        self.grammars = self._grammars()
        self.takings = Takings()
        self.refused = Counter[tuple[Library, str]]()
        self.operators = set[str]()

    def graph(self, number: int) -> Graph:
        """One of them."""
        domain = DOMAINS[number % len(DOMAINS)]
        return generate(self.grammars[domain], derive(self.seed, domain, number))

    def execute(self, graph: Graph) -> None:
        """Notes which libraries do not take it, each with the operator that it does not take."""
        self.operators.update(node.operator for node in graph.nodes)
        came = failed(self.processes.run(graph, DOUBLE))
        places = {library: first_failing(self.processes, graph, library) for library in came}
        died = any(True for _ in crashed(self.processes, graph, came, places, Counter()))
        self.takings.note(graph, set(places) or set(self.sessions), places, crashed=died)
        self.refused.update((library, graph.nodes[place].operator) for library, place in places.items())
        if not self.takings.left_out <= self.left_out:
            self.left_out = self.left_out | self.takings.left_out
            self.grammars = self._grammars()

    def tell(self, done: int) -> None:
        """Prints it."""
        print(f"  operators that these builds do not have: {len(self.missing)}")
        print(f"  left out later: {sorted(self.left_out - self.missing)}")
        for library in sorted(self.sessions):
            failing = sum(times for (of, _), times in self.refused.items() if of == library)
            print(f"  {library}: {1 - failing / done:.2%} taken")
        told = {" ".join(each): times for each, times in self.refused.most_common()}
        print(f"  not taken: {told}")

    def _grammars(self) -> dict[Domain, Grammar]:
        there = {name: each for name, each in self.table.items() if name not in self.left_out}
        return {domain: grammar(there, tuple(self.sessions), domain, self.order) for domain in DOMAINS}


if __name__ == "__main__":
    typer.run(main)
