"""Whether libraries agree on every operator of the table, by the rules that judge graphs, and on extreme data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fuzz_core.campaign.gandalf.judging import overflows
from fuzz_core.campaign.gandalf.lacking import absent
from fuzz_core.campaign.gandalf.looking import Disagreement, Runs, disagreements, precisions, ran, suspicious
from fuzz_core.campaign.gandalf.sides import Sides
from fuzz_core.modelgen.gandalf.extremes import KINDS, Kind, extreme
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.shapes import Refused
from fuzz_core.modelgen.gandalf.table import Operator


class Verified(NamedTuple):
    """An operator on one draw of data of a kind. complaints: what is wrong, by library; empty where all agree."""

    operator: str
    kind: Kind
    seed: int
    complaints: dict[str, str]


def comparable(sides: Sides, names: Sequence[str] = ()) -> list[Operator]:
    """The operators that all of the builds have and that none is known to do wrong; of those named, if any are."""
    libraries, missing = set(sides.sides), set[str]().union(*absent(sides).values())
    named = [each for each in sides.table.values() if each.name in names or not names]
    spelled = [each for each in named if libraries <= set(each.spelled) and each.name not in missing]
    return [each.limited(tuple(sides.sides)) for each in spelled if not libraries & set(each.wrong)]


def verified(sides: Sides, operator: Operator, draws: int, seed: int) -> Iterator[Verified]:
    """The operator on each kind of data that it takes, so many times."""
    for kind in KINDS:
        for number in range(seed, seed + draws):
            try:
                graph = extreme(operator, kind, number)
            except Refused:
                continue
            yield Verified(operator.name, kind, number, _complaints(sides, operator, graph))


def _complaints(sides: Sides, operator: Operator, graph: Graph) -> dict[str, str]:
    came = ran(sides, graph)
    if not isinstance(came, Runs):
        return {library: f"{each.kind}: {each.name}: {each.text}" for library, each in came.items()}
    if not suspicious(came, precisions(sides, graph)):
        return {}
    found = disagreements(sides, graph).values()
    return {told.wrong: _said(told) for told in found if not overflows(told, operator)}


def _said(told: Disagreement) -> str:
    if told.shape is not None:
        return f"another shape, not {list(told.shape)}"
    witnesses = " and ".join(told.witnesses)
    return f"{told.seen:g} in {told.precision} at {list(told.at)}, {witnesses}: {told.value:g}"
