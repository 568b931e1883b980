"""What is wrong with a graph: results that disagree, ways that give something else, gradients, and deaths."""

from __future__ import annotations

from math import isfinite

from fuzz_core.campaign.gandalf.culprits import Culprit, culprit
from fuzz_core.campaign.gandalf.failing import first_failing
from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.gandalf.findings import Found, crashed, died, disagreed, violated
from fuzz_core.campaign.gandalf.looking import PRECISIONS, Disagreement, Runs, precisions, ran, suspicious
from fuzz_core.campaign.gandalf.losses import NAME, lost
from fuzz_core.campaign.gandalf.relating import miscompiled, mixed, violations
from fuzz_core.campaign.gandalf.reward import crash_rewards, rewards
from fuzz_core.campaign.gandalf.schedule import Asks
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.campaign.gandalf.training import deadly, mistrained, trained, varied
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.diversity import operators_of
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.naming import is_formula
from fuzz_core.modelgen.gandalf.table import Library, Operator

# How often a graph that agrees is trained as well, and compiled, which takes as long as all else together.
TRAINED, COMPILED = 0.5, 0.125


def judged(sides: Sides, graph: Graph, domain: str, report: GandalfReport, asks: Asks) -> list[tuple[Library, Found]]:
    """Executes a graph everywhere; what is wrong with it in which library. asks: the relations where all agree."""
    report.graphs[domain] += 1
    report.operators.update(node.operator for node in graph.nodes)
    found = _found(sides, graph, report, asks)
    if found:
        report.effective[domain] += 1
        report.known.update(
            f"{library} {each.test.invocation.api}: {each.known}" for library, each in found if each.known
        )
        report.new.update(f"{library} {each.test.invocation.api}" for library, each in found if not each.known)
        report.symptoms.update((domain, each.symptom) for _, each in found)
        report.models.append((domain, operators_of(graph)))
    return found


def _found(sides: Sides, graph: Graph, report: GandalfReport, asks: Asks) -> list[tuple[Library, Found]]:
    came = ran(sides, graph)
    if isinstance(came, Runs):
        report.worth = rewards(graph, came, asks.weights) if asks.weights else []
        report.takings.note(graph, set(sides.sides), {})
        return _compared(sides, graph, came, report, asks)
    places = {library: first_failing(sides, graph, library) for library in came}
    found = list(crashed(sides, graph, came, places, report.refused))
    # Those that did not fail may have been asked in one precision alone.
    report.takings.note(graph, set(places), places, crashed=bool(found))
    if found:
        report.worth = crash_rewards(graph, sorted(places.values()), asks.weights) if asks.weights else []
        return found
    # What a library did wrong before may be what it does not take here.
    begun = graph.model_copy(update={"nodes": graph.nodes[: min(places.values())]})
    came = ran(sides, begun) if begun.nodes else {}
    return _compared(sides, begun, came, report, asks) if isinstance(came, Runs) else []


def _compared(sides: Sides, graph: Graph, runs: Runs, report: GandalfReport, asks: Asks) -> list[tuple[Library, Found]]:
    if suspicious(runs, precisions(sides, graph)):
        guilty = culprit(sides, graph, runs)
        if guilty is None or _overflows(sides, guilty):
            report.rounded += 1
            return []
        return [disagreed(sides, graph, guilty)]
    rng = Rng(derive("relations", operators_of(graph), graph.model_dump_json()))
    every = [*violations(sides, graph, runs, asks.within(len(graph.nodes)), report.relations, report.refused)]
    if not asks.further:
        report.hits.update(each.way.name for each in every)
        return [violated(sides, graph, each) for each in every]
    every += mixed(sides, graph, runs, rng, report.relations)
    if rng.chance(COMPILED):
        every += miscompiled(sides, graph, runs, rng.choice(PRECISIONS), report.relations, report.skipped)
    losses = lost(sides, graph, runs, report.relations)
    report.hits.update([*(each.way.name for each in every), *[NAME] * len(losses)])
    found = [*(violated(sides, graph, each) for each in every), *(disagreed(sides, graph, each) for each in losses)]
    return [*found, *_trained(sides, graph, runs, report)] if rng.chance(TRAINED) else found


def _trained(sides: Sides, graph: Graph, runs: Runs, report: GandalfReport) -> list[tuple[Library, Found]]:
    graph = varied(graph)
    came = trained(sides, graph)
    if not isinstance(came, Runs):
        return [died(sides, graph, each) for each in deadly(sides, graph, runs, came, report.skipped)]
    report.relations.update(["training"])
    guilty = mistrained(sides, graph, runs, came)
    if guilty is None or _overflows(sides, guilty):
        return []
    report.hits.update(["training"])
    return [disagreed(sides, graph, guilty)]


def _overflows(sides: Sides, guilty: Culprit) -> bool:
    return overflows(guilty.told, sides.table[guilty.graph.nodes[-1].operator])


def overflows(told: Disagreement, operator: Operator) -> bool:
    """Whether there is no number because the table's own formula has none in between."""
    return not isfinite(told.seen) and is_formula(operator.spelled[told.wrong], told.wrong)
