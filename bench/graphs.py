"""How many generated graphs libraries take, and how fast: `python -m bench.graphs torch==2.13.0 --graphs 10000`.

The targets have to be there (`nightfuzz pull`). Each graph runs once in each, in double precision; nothing is compared.
As in a fuzz, operators are left out that a library never takes, or fails with again and again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Set
from itertools import count, islice
from typing import Annotated, get_args

import typer

from bench.sides import sides
from fuzz_core.campaign.gandalf.engine import sides_of
from fuzz_core.campaign.gandalf.findings import crashed, first_failing
from fuzz_core.campaign.gandalf.lacking import Takings, absent
from fuzz_core.campaign.gandalf.looking import DOUBLE, failed
from fuzz_core.campaign.gandalf.ordering import order_of
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.campaign.session import Session
from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.gandalf.generation import Grammar, generate, grammar
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.order import Order
from fuzz_core.modelgen.gandalf.table import Domain, Library, Operator, load

DOMAINS: tuple[Domain, ...] = get_args(Domain)


def main(
    specs: Annotated[list[str], typer.Argument(help="targets, one of each library")],
    graphs: Annotated[int, typer.Option(min=1, help="how many, the domains in turn")] = 1000,
    seed: Annotated[int, typer.Option(help="of the stream of graphs")] = 1,
    limit: Annotated[float, typer.Option(min=1, help="seconds after which fewer will do")] = float("inf"),
) -> None:
    """Prints the share that each library takes, what it does not, and graphs per second."""
    table = load()
    with sides(specs) as sessions:
        order = order_of(table, sessions)
        takings, refused, operators, generating, done = Takings(), Counter[tuple[Library, str]](), set[str](), 0.0, 0
        with sides_of(sessions, table, seed) as processes:
            missing = set[str]().union(*absent(processes).values())
            left_out, grammars = set(missing), _grammars(table, missing, sessions, order)
            processes.run(generate(grammars["cv"], seed), DOUBLE)
            began = time.monotonic()
            for number in islice(count(), graphs):
                if (starting := time.monotonic()) - began > limit:
                    break
                domain = DOMAINS[number % len(DOMAINS)]
                graph = generate(grammars[domain], derive(seed, domain, number))
                generating += time.monotonic() - starting
                operators.update(node.operator for node in graph.nodes)
                refused.update(_executed(processes, graph, takings))
                if not takings.left_out <= left_out:
                    left_out |= takings.left_out
                    grammars = _grammars(table, left_out, sessions, order)
                done += 1
            seconds = time.monotonic() - began
    print(f"{done:,} graphs of {len(operators)} operators in {seconds:.0f} s: {done / seconds:.1f} per second")
    print(f"  operators that these builds do not have: {len(missing)}; left out later: {sorted(left_out - missing)}")
    print(f"  made in {generating:.0f} s of these")
    for library in sorted(sessions):
        failing = sum(times for (of, _), times in refused.items() if of == library)
        print(f"  {library}: {1 - failing / done:.2%} taken")
    told = {" ".join(each): times for each, times in refused.most_common()}
    print(f"  not taken: {told}")


def _grammars(
    table: Mapping[str, Operator], left_out: Set[str], sessions: Mapping[Library, Session], order: Order
) -> dict[Domain, Grammar]:
    there = {name: each for name, each in table.items() if name not in left_out}
    return {domain: grammar(there, tuple(sessions), domain, order) for domain in DOMAINS}


def _executed(processes: Sides, graph: Graph, takings: Takings) -> list[tuple[Library, str]]:
    """The libraries that do not take a graph, each with the operator that it does not take."""
    came = failed(processes.run(graph, DOUBLE))
    places = {library: first_failing(processes, graph, library) for library in came}
    died = any(True for _ in crashed(processes, graph, came, places, Counter()))
    takings.note(graph, set(places) or set(processes.sides), places, crashed=died)
    return [(library, graph.nodes[place].operator) for library, place in places.items()]


if __name__ == "__main__":
    typer.run(main)
