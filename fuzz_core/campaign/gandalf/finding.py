"""Findings about graphs, as the fuzz of single apis has them: a program of one library, and a verdict on it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Literal, NamedTuple

from fuzz_core.adapters.dialect import LIBRARIES
from fuzz_core.campaign.gandalf.probe import Fault, smaller
from fuzz_core.campaign.gandalf.sides import PRECISIONS, Answer, Sides
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.public_names import api_of
from fuzz_core.modelgen.gandalf.renderer import written
from fuzz_core.modelgen.gandalf.scripts import Expected, asserting, printing
from fuzz_core.modelgen.gandalf.table import Library, Precision
from fuzz_core.oracles.contract import oracle_of
from fuzz_core.triage.signature import signature

# The paper's three (table 5).
Symptom = Literal["inconsistency", "crash", "nan or inf"]


class Finding(NamedTuple):
    """A finding as the store keeps it, see `store.records.FindingRow`, and what guidance and reports need of it."""

    test: TestCase
    verdict: Verdict
    outcome: Outcome
    origin: str
    symptom: Symptom = "inconsistency"
    known: str = ""  # the fault that the table knows; empty for a new one
    place: int = 0  # of the node in the whole graph
    says: str = ""  # what is wrong, in words


def finding(sides: Sides, whole: Graph, fault: Fault) -> tuple[Library, Finding]:
    """Return the library that is wrong, and the finding: a script that asserts the right element."""
    probe, wrong = fault.probe, fault.wrong
    snippet, witnesses = probe.snippet(fault.graph, wrong), probe.witnesses(wrong)
    expected = Expected(snippet.at, wrong.value, wrong.bound, witnesses, wrong.shape)
    script = asserting(snippet.program, snippet.array, probe.said, expected)
    outcome = Outcome("ok", text=f"{probe.said}\n{witnesses}")
    verdict = oracle_of("differential").judge({LIBRARIES: outcome}, sides.sides[wrong.wrong].session.dialect)
    found = _made(sides, whole, fault.place, wrong.wrong, script, verdict, outcome, probe.origin(wrong))
    symptom: Symptom = "inconsistency" if isfinite(wrong.seen) else "nan or inf"
    return wrong.wrong, found._replace(symptom=symptom, says=f"{probe.name}: {wrong.text}, by {witnesses}")


def crash(
    sides: Sides, whole: Graph, place: int, library: Library, script: str, outcome: Outcome, where: str = ""
) -> tuple[Library, Finding]:
    """Return a library that dies or fails internally, and the finding.

    Args:
        where: what the origin says of the place.
    """
    found = _made(sides, whole, place, library, script, crash_verdict(sides, library, outcome), outcome, where)
    return library, found._replace(symptom="crash", says=outcome_text(outcome))


def crash_verdict(sides: Sides, library: Library, outcome: Outcome) -> Verdict:
    """Return the verdict on a library that died or failed internally; a refusal in words is no crash."""
    return oracle_of("crash").judge({"cpu": outcome}, sides.sides[library].session.dialect)


def _made(
    sides: Sides,
    whole: Graph,
    place: int,
    library: Library,
    script: str,
    verdict: Verdict,
    outcome: Outcome,
    where: str,
) -> Finding:
    operator = sides.table[whole.nodes[place].operator]
    test = TestCase(Invocation(api_of(operator.spelled[library], library)), 0, program=script)
    known = operator.faults.get(library, "")
    chain = " -> ".join(whole.operators)
    origin = f"graph {chain}: node {place}, {operator.name}{where}{f'; known: {known}' if known else ''}"
    return Finding(test, verdict, outcome, origin, known=known, place=place)


def outcome_text(outcome: Outcome) -> str:
    """Return how a program ended, in words."""
    return f"{outcome.kind}: {outcome.name}: {outcome.text}"


def first_failing(sides: Sides, graph: Graph, library: Library) -> int:
    """Return the node with which a library fails: the last node of the graph's shortest beginning that fails."""

    def fails(place: int) -> bool:
        begun = beginning(graph, place + 1)
        return any(isinstance(sides.answer(begun, each, library), Outcome) for each in PRECISIONS)

    return bisect_left(range(graph.last), True, key=fails)


def crashes(
    sides: Sides, graph: Graph, ended: Mapping[Library, Outcome], places: Mapping[Library, int], refused: Counter[str]
) -> Iterator[tuple[Library, Finding]]:
    """Yield the crashes and internal errors; count mere refusals, by library and operator.

    Args:
        places: the nodes with which libraries fail, see `first_failing`.
    """
    for library, outcome in ended.items():
        place = places[library]
        if not is_crash(sides, library, outcome):
            refused[f"{library} {graph.operators[place]}"] += 1
            continue
        small, precision = _smallest(sides, graph, place, library, outcome)
        script = printing(written(small, sides.table, library, precision), f"n{small.last}.numpy()")
        yield crash(sides, graph, place, library, script, outcome)


def is_crash(sides: Sides, library: Library, outcome: Outcome) -> bool:
    """Return whether a library died or failed internally."""
    return outcome.kind != "timeout" and not crash_verdict(sides, library, outcome).clean


def beginning(graph: Graph, nodes: int) -> Graph:
    """Return the graph of so many first nodes."""
    return graph.model_copy(update={"nodes": graph.nodes[:nodes]})


def _smallest(sides: Sides, graph: Graph, place: int, library: Library, outcome: Outcome) -> tuple[Graph, Precision]:
    """Return the smallest graph that ends with this node and fails in the same way, and a precision in which it fails.

    If no smaller graph fails in the same way, return the graph's beginning.

    Args:
        outcome: how the whole graph failed.
    """
    whole = beginning(graph, place + 1)
    wanted = _fault(sides, library, outcome)
    for small in smaller(sides.table, whole, place):
        for precision in PRECISIONS:
            if _fault(sides, library, sides.answer(small, precision, library)) == wanted:
                return small, precision
    failing = [each for each in PRECISIONS if isinstance(sides.answer(whole, each, library), Outcome)]
    return whole, [*failing, *PRECISIONS][0]


def _fault(sides: Sides, library: Library, answer: Answer) -> str:
    """Return a text that is equal for equal faults; empty for results."""
    if not isinstance(answer, Outcome):
        return ""
    return signature("", crash_verdict(sides, library, answer), answer).text
