"""Fuzz every operator of the table alone, on extreme data, by the rules that judge graphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fuzz_core.campaign.gandalf.availability import absent
from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.gandalf.finding import outcome_text
from fuzz_core.campaign.gandalf.judge import compare
from fuzz_core.campaign.gandalf.schedule import Asks, Schedule
from fuzz_core.campaign.gandalf.search import FaultSearch
from fuzz_core.campaign.gandalf.sides import Runs, Sides
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.extremes import KINDS, Kind, extreme
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.shapes import ShapeError
from fuzz_core.modelgen.gandalf.table import Operator


class Draw(NamedTuple):
    """An operator on one draw of data of a kind."""

    operator: str
    kind: Kind
    seed: int
    complaints: dict[str, str]  # what is wrong, by library; empty if all agree


def comparable(sides: Sides, names: Sequence[str] = ()) -> list[Operator]:
    """Return the operators, of those named if any are, that all builds have and that none is known to do wrong."""
    libraries, missing = set(sides.sides), set[str]().union(*absent(sides).values())
    named = [each for each in sides.table.values() if each.name in names or not names]
    spelled = [each for each in named if libraries <= set(each.spelled) and each.name not in missing]
    return [each.limited(tuple(sides.sides)) for each in spelled if not libraries & set(each.wrong)]


def verify(sides: Sides, operator: Operator, draws: int, seed: int) -> Iterator[Draw]:
    """Yield the results of an operator on each kind of data that it takes, for a number of draws each."""
    schedule = Schedule({operator.name: operator}, list(sides.sides), Rng(derive(seed, operator.name)))
    for kind in KINDS:
        for number in range(seed, seed + draws):
            try:
                graph = extreme(operator, kind, number)
            except ShapeError:
                continue
            yield Draw(operator.name, kind, number, _complaints(sides, graph, schedule.asks(graph)))


def _complaints(sides: Sides, graph: Graph, asks: Asks) -> dict[str, str]:
    runs = sides.runs(graph)
    if not isinstance(runs, Runs):
        return {library: outcome_text(each) for library, each in runs.items()}
    found = compare(FaultSearch(sides, graph, runs, GandalfReport()), asks)
    return {library: each.says for library, each in found if not each.known}
