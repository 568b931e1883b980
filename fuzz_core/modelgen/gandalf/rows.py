"""Operators that treat each row of a batch by itself, and graphs of their rows one by one (beyond the paper)."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from fuzz_core.modelgen.gandalf.graph import Graph, GraphNode
from fuzz_core.modelgen.gandalf.patterns import Pattern, pattern
from fuzz_core.modelgen.gandalf.shapes import ShapeError, TensorShape, infer
from fuzz_core.modelgen.gandalf.surgery import given
from fuzz_core.modelgen.gandalf.table import Operator

BATCH = "N"
Data = Sequence[tuple[TensorShape, NDArray[Any]]]


def batched(operator: Operator, node: GraphNode, tensors: Sequence[TensorShape]) -> int:
    """Return how many rows are in the batch that an operator takes and gives.

    The result is 0 if there is no batch, or if the operator refuses a single row. The patterns do not say whether rows
    influence each other; the libraries' results show that.
    """
    if not _has_rows(operator.inputs[0]) or not _has_rows(pattern(operator.gives)):
        return 0
    firsts = [_first(operator, role, each) for role, each in enumerate(tensors)]
    try:
        whole = infer(operator, tensors, node.parameters)
        one = infer(operator, firsts, node.parameters)
    except ShapeError:
        return 0
    return tensors[0].shape[0] if one.weights == whole.weights else 0


def rows(graph: Graph, table: Mapping[str, Operator], data: Data) -> Graph:
    """Return a graph that applies the single operator of a graph to each row by itself.

    Args:
        data: the tensors and arrays of the graph's inputs.
    """
    singles = [row(graph, table, data, place) for place in range(data[0][0].shape[0])]
    width = len(data)
    nodes = [
        each.nodes[0].model_copy(update={"takes": tuple(f"x{place * width + role}" for role in range(width))})
        for place, each in enumerate(singles)
    ]
    return Graph(inputs=tuple(each for single in singles for each in single.inputs), nodes=tuple(nodes))


def row(graph: Graph, table: Mapping[str, Operator], data: Data, place: int) -> Graph:
    """Return a graph that applies the operator of a graph to one row.

    Its inputs are in the operator's order.
    """
    (node,) = graph.nodes
    operator = table[node.operator]
    inputs = []
    for role, (tensor, array) in enumerate(data):
        part = array[place : place + 1] if _has_rows(operator.inputs[role]) else array
        inputs.append(given(_first(operator, role, tensor), part.ravel().tolist()))
    return Graph(inputs=tuple(inputs), nodes=(node,))


def _first(operator: Operator, role: int, tensor: TensorShape) -> TensorShape:
    return tensor._replace(shape=(1, *tensor.shape[1:])) if _has_rows(operator.inputs[role]) else tensor


def _has_rows(found: Pattern) -> bool:
    first = found.parts[0]
    return isinstance(first, ast.Name) and first.id == BATCH
