"""How many generated graphs libraries take, and how fast: `python -m bench.graphs torch==2.13.0 --graphs 10000`.

The targets have to be there (`nightfuzz pull`). Each graph runs once in each, in double precision; nothing is compared.
"""

from __future__ import annotations

import time
from collections import Counter
from itertools import count, islice
from typing import Annotated, get_args

import typer

from bench.sides import sides
from fuzz_core.campaign.gandalf.engine import sides_of
from fuzz_core.campaign.gandalf.findings import first_failing
from fuzz_core.campaign.gandalf.lacking import absent
from fuzz_core.campaign.gandalf.looking import DOUBLE, failed
from fuzz_core.campaign.gandalf.ordering import order_of
from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.gandalf.generation import generate, grammar
from fuzz_core.modelgen.gandalf.table import Domain, load

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
        failing, refused, operators, generating, done = Counter[str](), Counter[str](), set[str](), 0.0, 0
        with sides_of(sessions, table, seed) as processes:
            missing = set[str]().union(*absent(processes).values())
            there = {name: each for name, each in table.items() if name not in missing}
            grammars = {domain: grammar(there, tuple(sessions), domain, order) for domain in DOMAINS}
            processes.run(generate(grammars["cv"], seed), DOUBLE)
            began = time.monotonic()
            for number in islice(count(), graphs):
                if (starting := time.monotonic()) - began > limit:
                    break
                domain = DOMAINS[number % len(DOMAINS)]
                graph = generate(grammars[domain], derive(seed, domain, number))
                generating += time.monotonic() - starting
                operators.update(node.operator for node in graph.nodes)
                for library in failed(processes.run(graph, DOUBLE)):
                    failing[library] += 1
                    refused[f"{library} {graph.nodes[first_failing(processes, graph, library)].operator}"] += 1
                done += 1
            seconds = time.monotonic() - began
    print(f"{done:,} graphs of {len(operators)} operators in {seconds:.0f} s: {done / seconds:.1f} per second")
    print(f"  operators that these builds do not have: {len(missing)}")
    print(f"  made in {generating:.0f} s of these")
    for library in sorted(sessions):
        print(f"  {library}: {1 - failing[library] / done:.2%} taken")
    print(f"  not taken: {dict(refused.most_common())}")


if __name__ == "__main__":
    typer.run(main)
