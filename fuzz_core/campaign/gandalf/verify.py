"""Fuzz every operator of the table alone by the rules that judge graphs, on extreme data.

Extreme data: one element, values near zero, zeros, large values, negative integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Literal, NamedTuple, get_args

import numpy as np

from fuzz_core.campaign.gandalf.figures import GandalfReport
from fuzz_core.campaign.gandalf.finding import outcome_text
from fuzz_core.campaign.gandalf.judge import compare
from fuzz_core.campaign.gandalf.schedule import Schedule
from fuzz_core.campaign.gandalf.search import FaultSearch
from fuzz_core.campaign.gandalf.sides import Runs, Sides, absent
from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.generation import GraphOptions, alone
from fuzz_core.modelgen.gandalf.graph import Graph
from fuzz_core.modelgen.gandalf.shapes import ShapeError
from fuzz_core.modelgen.gandalf.table import Library, Operator

# drawn: data as at the start of graphs. small: one element in every dimension. alike: large, and all elements are
# equal.
Kind = Literal["drawn", "small", "negative", "faint", "tiny", "zero", "large", "alike"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# The dtype of the inputs that are drawn anew, and the standard deviation of their elements.
SCALES: Mapping[Kind, tuple[str, float]] = {
    "negative": ("int", 5.0),
    "faint": ("float", 1e-7),
    "tiny": ("float", 1e-14),
    "zero": ("float", 0.0),
    "large": ("float", 1e3),
    "alike": ("float", 1e3),
}


def extreme(operator: Operator, kind: Kind, seed: int, constant: bool = False) -> Graph:
    """Return a graph of this operator alone on such data.

    Args:
        constant: whether all its weights are one constant.

    Raises:
        ShapeError: the operator takes no such data, or no parameters were found.
    """
    sizes = (1,) if kind == "small" else ()
    graph = alone(operator, seed, GraphOptions(constant=float(constant), sizes=sizes))
    if kind not in SCALES:
        return graph
    dtype, deviation = SCALES[kind]
    if all(each.dtype != dtype for each in graph.inputs):
        raise ShapeError(f"it takes no {dtype}")
    rng, inputs = np.random.RandomState(seed), list(graph.inputs)
    for place, each in enumerate(inputs):
        if each.dtype == dtype:
            count = prod(each.shape)
            values = np.resize(rng.standard_normal(1 if kind == "alike" else count) * deviation, count)
            whole = values.round() if dtype == "int" else values
            inputs[place] = each.model_copy(update={"values": tuple(whole.tolist())})
    return graph.model_copy(update={"inputs": tuple(inputs)})


class Draw(NamedTuple):
    """An operator on one draw of data of a kind."""

    operator: str
    kind: Kind
    seed: int
    complaints: Mapping[Library, str]  # what is wrong, by library; empty if all agree


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
            runs, asks = sides.runs(graph), schedule.asks(graph)
            if isinstance(runs, Runs):
                found = compare(FaultSearch(sides, graph, runs, GandalfReport()), asks)
                complaints = {library: each.says for library, each in found if not each.known}
            else:
                complaints = {library: outcome_text(each) for library, each in runs.items()}
            yield Draw(operator.name, kind, number, complaints)
