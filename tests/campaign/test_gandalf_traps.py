"""Graphs that repeat the structure of earlier ones, and a session's record of graphs from round to round."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from fuzz_core.campaign.gandalf.engine import _graphs
from fuzz_core.campaign.gandalf.experience import Experience
from fuzz_core.campaign.gandalf.figures import GandalfOptions, GandalfReport
from fuzz_core.campaign.gandalf.schedule import Schedule
from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.generation import GraphOptions, grammar
from fuzz_core.modelgen.gandalf.guidance import Alike, Noting
from fuzz_core.modelgen.gandalf.table import load

# Each graph has one inner operator, so that only a few structures exist.
OPTIONS = GandalfOptions(domains=["cv"], growth=GraphOptions(least=1, most=1))


class Stubborn(Alike):
    """A guidance that always chooses the first operator."""

    def choose(self, before: str, names: Sequence[str]) -> str:
        return names[0]


def traps(guidance: Alike, experience: Experience, number: int = 20) -> list[bool]:
    grammars = {"cv": grammar(load(), ["torch", "tensorflow"], "cv")}
    report, schedule = GandalfReport(), Schedule(load(), ["torch", "tensorflow"], Rng(1))
    drawn = list(islice(_graphs(grammars, OPTIONS, report, Noting(guidance), experience, schedule), number))
    assert report.trapped == sum(each.trap for each in drawn)
    assert len({each.graph.model_dump_json() for each in drawn}) == number
    return [each.trap for each in drawn]


def test_a_graph_that_differs_in_data_alone_is_a_trap() -> None:
    assert sum(traps(Stubborn(Rng(1)), Experience())) > 10


def test_chance_is_seldom_trapped() -> None:
    assert sum(traps(Alike(Rng(1)), Experience())) < 5


def test_another_round_knows_the_structures_of_the_first() -> None:
    experience = Experience()
    first = traps(Stubborn(Rng(1)), experience)
    assert not first[0]
    assert sum(traps(Stubborn(Rng(1)), experience, 40)) > sum(traps(Stubborn(Rng(1)), Experience(), 40))
