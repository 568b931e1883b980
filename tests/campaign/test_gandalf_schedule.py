"""The schedule of relations: each is tried about equally often, though most operators have only a few of them."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from fuzz_core.campaign.gandalf.engine import _graphs
from fuzz_core.campaign.gandalf.experience import Experience
from fuzz_core.campaign.gandalf.figures import GandalfOptions, GandalfReport
from fuzz_core.campaign.gandalf.judge import DrawnGraph
from fuzz_core.campaign.gandalf.schedule import AHEAD, TIMES, Asks, Schedule
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.generation import grammar
from fuzz_core.modelgen.gandalf.guidance import Alike, Noting
from fuzz_core.modelgen.gandalf.relations import RELATIONS
from fuzz_core.modelgen.gandalf.renderer import render
from fuzz_core.modelgen.gandalf.table import LIBRARIES, Library, load

TABLE = load()


def stream(libraries: tuple[Library, ...], number: int, adding: bool = True) -> list[DrawnGraph]:
    options, report = GandalfOptions(seed=1), GandalfReport()
    grammars = {domain: grammar(TABLE, libraries, domain) for domain in options.domains}
    schedule = Schedule(TABLE, libraries, Rng(1), adding)
    guide = Noting(Alike(Rng(1)))
    return list(islice(_graphs(grammars, options, report, guide, Experience(), schedule), number))


@pytest.mark.parametrize("libraries", [LIBRARIES[:2], LIBRARIES])
def test_each_relation_is_asked_about_equally_often(libraries: tuple[Library, ...]) -> None:
    drawn = stream(libraries, 60)
    asked = Counter(each.number for graph in drawn for nodes in graph.asks.through.values() for each in nodes.values())
    assert set(asked) == set(RELATIONS)
    assert max(asked.values()) <= 3 * min(asked.values()) and min(asked.values()) >= 10


def test_no_relation_waits_for_a_rare_one_if_no_operators_are_added() -> None:
    drawn = stream(LIBRARIES[:2], 60, adding=False)
    assert all(len(each.graph.nodes) == each.own for each in drawn)
    asked = Counter(each.number for graph in drawn for nodes in graph.asks.through.values() for each in nodes.values())
    least = min(asked[number] for number in RELATIONS)
    assert sum(times > TIMES * least + AHEAD + 1 for times in asked.values()) >= len(RELATIONS) / 2, asked


def test_a_relation_that_is_asked_can_be_written() -> None:
    for each in stream(LIBRARIES, 10):
        for library, through in each.asks.through.items():
            assert all(each.asks.precision in relation.precisions for relation in through.values())
            assert render(each.graph, TABLE, library, each.asks.precision, through)


def test_the_first_nodes_of_a_graph_keep_their_relations() -> None:
    asks = Asks("float64", {"torch": {0: RELATIONS[4], 3: RELATIONS[13]}})
    assert asks.within(3).through == {"torch": {0: RELATIONS[4]}}
