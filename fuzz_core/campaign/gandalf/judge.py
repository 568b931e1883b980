"""Judging of graphs: each is executed in all libraries, and each probe is asked about it."""

from __future__ import annotations

from math import isfinite

from fuzz_core.campaign.gandalf.crash import beginning, crashes, first_failing
from fuzz_core.campaign.gandalf.disagreement import suspicious
from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.gandalf.finding import Finding, finding
from fuzz_core.campaign.gandalf.probe import Fault, GradientProbe
from fuzz_core.campaign.gandalf.reward import crash_rewards, rewards
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.search import FaultSearch
from fuzz_core.campaign.gandalf.sides import PRECISIONS, Runs, Sides
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.diversity import operators_of
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.public_names import is_formula
from fuzz_core.modelgen.gandalf.table import Library

# How often a graph that agrees is trained as well, and compiled, which takes as long as all else together.
TRAINED, COMPILED = 0.5, 0.125


def judge(sides: Sides, graph: Graph, domain: str, report: GandalfReport, asks: Asks) -> list[tuple[Library, Finding]]:
    """Execute a graph everywhere, and return what is wrong with it in which library.

    Args:
        asks: the relations that the graph is asked if all libraries agree.
    """
    report.graphs[domain] += 1
    report.operators.update(node.operator for node in graph.nodes)
    found = _findings(sides, graph, report, asks)
    if found:
        report.effective[domain] += 1
        report.known.update(
            f"{library} {each.test.invocation.api}: {each.known}" for library, each in found if each.known
        )
        report.new.update(f"{library} {each.test.invocation.api}" for library, each in found if not each.known)
        report.symptoms.update((domain, each.symptom) for _, each in found)
        report.models.append((domain, operators_of(graph)))
    return found


def _findings(sides: Sides, graph: Graph, report: GandalfReport, asks: Asks) -> list[tuple[Library, Finding]]:
    runs = sides.runs(graph)
    if isinstance(runs, Runs):
        report.worth = rewards(graph, runs, asks.weights) if asks.weights else []
        report.operator_outcomes.note(graph, set(sides.sides), {})
        return compare(FaultSearch(sides, graph, runs, report), asks)
    places = {library: first_failing(sides, graph, library) for library in runs}
    found = list(crashes(sides, graph, runs, places, report.refused))
    # Libraries that did not fail may have run the graph in one precision alone.
    report.operator_outcomes.note(graph, set(places), places, crashed=bool(found))
    if found:
        report.worth = crash_rewards(graph, sorted(places.values()), asks.weights) if asks.weights else []
        return found
    # A fault in an earlier node may be the reason why a library refuses this one.
    begun = beginning(graph, min(places.values()))
    runs = sides.runs(begun) if begun.nodes else {}
    return compare(FaultSearch(sides, begun, runs, report), asks) if isinstance(runs, Runs) else []


def compare(search: FaultSearch, asks: Asks) -> list[tuple[Library, Finding]]:
    """Return what is wrong with a graph that all libraries gave results for.

    Args:
        asks: see `judge`.
    """
    sides, graph, report = search.sides, search.graph, search.report
    if suspicious(search.runs, sides.precisions(graph)):
        fault = search.results()
        if fault is None or overflows(sides, fault):
            report.rounded += 1
            return []
        return [finding(sides, graph, fault)]
    rng = Rng(derive("relations", operators_of(graph), graph.model_dump_json()))
    asks = asks.within(len(graph.nodes))
    faults = [*search.rewritten(asks)]
    crashed = [*search.rewriting_crashes(asks)]
    if not asks.further:
        report.hits.update(each.probe.name for each in faults)
        return [*crashed, *(finding(sides, graph, each) for each in faults)]
    faults += search.row_by_row(rng)
    if rng.chance(COMPILED):
        faults += search.compiled(rng.choice(PRECISIONS))
    faults += search.losses()
    report.hits.update(each.probe.name for each in faults)
    found = [*crashed, *(finding(sides, graph, each) for each in faults)]
    return [*found, *_trained(search)] if rng.chance(TRAINED) else found


def _trained(search: FaultSearch) -> list[tuple[Library, Finding]]:
    """Train the graph without constant weights: if all elements are equal, the largest has no unique gradient."""
    sides, report, probe = search.sides, search.report, GradientProbe()
    nodes = tuple(each.model_copy(update={"constants": ()}) for each in search.graph.nodes)
    search = FaultSearch(sides, search.graph.model_copy(update={"nodes": nodes}), search.runs, report)
    gradients = probe.runs(sides, search.graph)
    if not isinstance(gradients, Runs):
        return list(search.training_crashes(gradients))
    report.relations[probe.name] += 1
    fault = search.gradients(gradients)
    if fault is None or overflows(sides, fault):
        return []
    report.hits[probe.name] += 1
    return [finding(sides, search.graph, fault)]


def overflows(sides: Sides, fault: Fault) -> bool:
    """Return whether there is no number because the table's own formula has none in between."""
    wrong, operator = fault.wrong, sides.table[fault.graph.nodes[-1].operator]
    return not isfinite(wrong.seen) and is_formula(operator.spelled[wrong.wrong], wrong.wrong)
