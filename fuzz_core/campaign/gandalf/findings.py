"""Findings about graphs, as the fuzz of single apis has them: a program of one library, and a verdict on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Literal, NamedTuple

from fuzz_core.adapters.dialect import LIBRARIES
from fuzz_core.campaign.gandalf.culprits import Culprit
from fuzz_core.campaign.gandalf.failing import crash_of, smallest_failing
from fuzz_core.campaign.gandalf.looking import Disagreement
from fuzz_core.campaign.gandalf.relating import Violation
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.campaign.gandalf.training import Deadly
from fuzz_core.ir.outcome import Outcome, Verdict
from fuzz_core.ir.values import Invocation, TestCase
from fuzz_core.modelgen.gandalf.again import training
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.naming import api_of
from fuzz_core.modelgen.gandalf.rendering import written
from fuzz_core.modelgen.gandalf.scripts import GRADIENT, RESULT, Expected, asserting, printing
from fuzz_core.modelgen.gandalf.table import Library
from fuzz_core.oracles.contract import oracle_of

# The paper's three (table 5).
Symptom = Literal["inconsistency", "crash", "nan or inf"]


class Found(NamedTuple):
    """A finding. origin: see `store.records.FindingRow`. known: the fault that the table knows, empty for a new one.

    place: of its node in the whole graph.
    """

    test: TestCase
    verdict: Verdict
    outcome: Outcome
    origin: str
    symptom: Symptom = "inconsistency"
    known: str = ""
    place: int = 0

    def of(self, sides: Sides, operator: str, library: Library) -> Found:
        """The finding about an operator: its origin says what the table knows of it."""
        known = sides.table[operator].faults.get(library, "")
        return self._replace(known=known, origin=f"{self.origin}; known: {known}" if known else self.origin)


def disagreed(sides: Sides, whole: Graph, guilty: Culprit) -> tuple[Library, Found]:
    """A library's result of an operator, or its gradient, that others or its own double precision contradict."""
    told, graph, table = guilty.told, guilty.graph, sides.table
    expected = Expected(told.at, told.value, told.bound, witnesses(sides, told), told.shape)
    if guilty.of:
        program, array = training(graph, table, told.wrong, told.precision, [guilty.of]), "gradients[0].numpy()"
    else:
        program, array = written(graph, table, told.wrong, told.precision), f"n{len(graph.nodes) - 1}.numpy()"
    script = asserting(program, array, GRADIENT if guilty.of else RESULT, expected)
    origin = _origin(whole, guilty.place, told) + (f", the gradient of {guilty.of}" if guilty.of else "")
    said = f"{GRADIENT if guilty.of else RESULT}\n{expected.witnesses}"
    found = _found(sides, graph, told.wrong, script, said, origin)._replace(place=guilty.place)
    return told.wrong, found if isfinite(told.seen) else found._replace(symptom="nan or inf")


def violated(sides: Sides, whole: Graph, found: Violation) -> tuple[Library, Found]:
    """A library's result of the same operator computed in another way, which has to be the same."""
    origin = f"{_origin(whole, found.place, None)}, where {found.way.told}"
    said = f"{found.way.said}\n{found.expected.witnesses}"
    made = _found(sides, found.graph, found.library, found.script, said, origin)
    return found.library, made._replace(place=found.place)


def died(sides: Sides, whole: Graph, found: Deadly) -> tuple[Library, Found]:
    """A library that dies, or fails internally, where the gradient of an operator is computed."""
    verdict = crash_of(sides, found.library, found.outcome)
    test = TestCase(Invocation(_api(sides, found.graph, 0, found.library)), 0, program=found.program)
    origin = f"{_origin(whole, found.place, None)}, where it is trained"
    crash = Found(test, verdict, found.outcome, origin, "crash", place=found.place)
    return found.library, crash.of(sides, found.graph.nodes[0].operator, found.library)


def _found(sides: Sides, graph: Graph, library: Library, script: str, said: str, origin: str) -> Found:
    outcome = Outcome("ok", text=said)
    verdict = oracle_of("differential").judge({LIBRARIES: outcome}, sides.sides[library].session.dialect)
    test = TestCase(Invocation(_api(sides, graph, len(graph.nodes) - 1, library)), 0, program=script)
    return Found(test, verdict, outcome, origin).of(sides, graph.nodes[-1].operator, library)


def witnesses(sides: Sides, told: Disagreement) -> str:
    """Who says so, in words."""
    names = " and ".join(sides.sides[each].name for each in told.witnesses)
    if told.precision == "float32":
        return f"this library in double precision, and {names} in single"
    return names if told.decided else f"{names}; which of the two is right is not decided"


def crashed(
    sides: Sides, graph: Graph, came: Mapping[Library, Outcome], places: Mapping[Library, int], refused: Counter[str]
) -> Iterator[tuple[Library, Found]]:
    """What died or failed internally; what was only refused is counted, by library and operator.

    places: the nodes with which they fail, see `failing.first_failing`.
    """
    for library, outcome in came.items():
        place = places[library]
        verdict = crash_of(sides, library, outcome)
        if verdict.clean or outcome.kind == "timeout":
            refused[f"{library} {graph.nodes[place].operator}"] += 1
            continue
        small, precision = smallest_failing(sides, graph, place, library, outcome)
        program = printing(written(small, sides.table, library, precision), f"n{len(small.nodes) - 1}.numpy()")
        test = TestCase(Invocation(_api(sides, graph, place, library)), 0, program=program)
        crash = Found(test, verdict, outcome, _origin(graph, place, None), "crash", place=place)
        yield library, crash.of(sides, graph.nodes[place].operator, library)


def _api(sides: Sides, graph: Graph, place: int, library: Library) -> str:
    return api_of(sides.table[graph.nodes[place].operator].spelled[library], library)


def _origin(graph: Graph, place: int, told: Disagreement | None) -> str:
    operators = " -> ".join(node.operator for node in graph.nodes)
    said = "" if told is None else f" in {told.precision}{'' if told.decided else ', undecided'}"
    return f"graph {operators}: node {place}, {graph.nodes[place].operator}{said}"
