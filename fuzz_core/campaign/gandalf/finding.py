"""Findings about graphs, as the fuzz of single apis has them: a program of one library, and a verdict on it."""

from __future__ import annotations

from math import isfinite
from typing import Literal, NamedTuple

from fuzz_core.adapters.dialect import LIBRARIES
from fuzz_core.campaign.gandalf.probe import Fault
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.public_names import api_of
from fuzz_core.modelgen.gandalf.scripts import Expected, asserting
from fuzz_core.modelgen.gandalf.table import Library
from fuzz_core.oracles.contract import oracle_of

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
    probe, graph, wrong = fault.probe, fault.graph, fault.wrong
    snippet = probe.snippet(graph, sides.table, wrong)
    expected = Expected(snippet.at, wrong.value, wrong.bound, probe.witnesses(sides, wrong), wrong.shape)
    script = asserting(snippet.program, snippet.array, probe.said, expected)
    outcome = Outcome("ok", text=f"{probe.said}\n{expected.witnesses}")
    verdict = oracle_of("differential").judge({LIBRARIES: outcome}, sides.sides[wrong.wrong].session.dialect)
    symptom: Symptom = "inconsistency" if isfinite(wrong.seen) else "nan or inf"
    found = _made(sides, whole, fault.place, wrong.wrong, script, verdict, outcome, probe.origin(wrong), symptom)
    return wrong.wrong, found._replace(says=f"{probe.name}: {wrong.text}, by {expected.witnesses}")


def crash(
    sides: Sides, whole: Graph, place: int, library: Library, script: str, outcome: Outcome, where: str = ""
) -> tuple[Library, Finding]:
    """Return a library that dies or fails internally, and the finding.

    Args:
        where: what the origin says of the place.
    """
    verdict = crash_verdict(sides, library, outcome)
    return library, _made(sides, whole, place, library, script, verdict, outcome, where, "crash")


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
    symptom: Symptom,
) -> Finding:
    operator = sides.table[whole.nodes[place].operator]
    test = TestCase(Invocation(api_of(operator.spelled[library], library)), 0, program=script)
    known = operator.faults.get(library, "")
    chain = " -> ".join(node.operator for node in whole.nodes)
    origin = f"graph {chain}: node {place}, {operator.name}{where}{f'; known: {known}' if known else ''}"
    return Finding(test, verdict, outcome, origin, symptom, known, place, outcome_text(outcome))


def outcome_text(outcome: Outcome) -> str:
    """Return how a program ended, in words."""
    return f"{outcome.kind}: {outcome.name}: {outcome.text}"
