"""Graphs of one operator on unusual data: one element, values near zero, zeros, large values, negative integers."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Literal, NamedTuple, get_args

import numpy as np

from fuzz_core.modelgen.gandalf.generation import GraphOptions, alone
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput
from fuzz_core.modelgen.gandalf.shapes import ShapeError
from fuzz_core.modelgen.gandalf.table import Operator

# drawn: data as at the start of graphs. small: one element in every dimension. alike: large, and all elements are
# equal.
Kind = Literal["drawn", "small", "negative", "faint", "tiny", "zero", "large", "alike"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class _Scale(NamedTuple):
    """Inputs of this dtype are normal with this deviation."""

    dtype: str
    deviation: float
    alike: bool = False  # one number for each of them


SCALES: Mapping[Kind, _Scale] = {
    "negative": _Scale("int", 5.0),
    "faint": _Scale("float", 1e-7),
    "tiny": _Scale("float", 1e-14),
    "zero": _Scale("float", 0.0),
    "large": _Scale("float", 1e3),
    "alike": _Scale("float", 1e3, True),
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
    return _scaled(graph, SCALES[kind], seed) if kind in SCALES else graph


def _scaled(graph: Graph, scale: _Scale, seed: int) -> Graph:
    if all(each.dtype != scale.dtype for each in graph.inputs):
        raise ShapeError(f"it takes no {scale.dtype}")
    rng = np.random.RandomState(seed)
    inputs = tuple(_drawn(each, scale, rng) if each.dtype == scale.dtype else each for each in graph.inputs)
    return graph.model_copy(update={"inputs": inputs})


def _drawn(each: GraphInput, scale: _Scale, rng: np.random.RandomState) -> GraphInput:
    count = prod(each.shape)
    values = np.resize(rng.standard_normal(1 if scale.alike else count) * scale.deviation, count)
    whole = values.round() if scale.dtype == "int" else values
    return each.model_copy(update={"values": tuple(whole.tolist())})
