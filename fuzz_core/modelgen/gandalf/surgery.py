"""Parts of graphs: what a node depends on, nodes on data of their own, and rows of a batch (beyond the paper)."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from fuzz_core.modelgen.gandalf.declarations import Pattern, pattern
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode, renumbered, taking
from fuzz_core.modelgen.gandalf.shapes import ShapeError, TensorShape, infer
from fuzz_core.modelgen.gandalf.table import Operator

BATCH = "N"


def above(graph: Graph, place: int) -> Graph:
    """Return the graph of a node and of all nodes that it depends on; the node is the last one."""
    wanted, waiting = {f"n{place}"}, [place]
    while waiting:
        new = set(graph.nodes[waiting.pop()].takes) - wanted
        wanted |= new
        waiting += [int(name[1:]) for name in new if name[0] == "n"]
    inputs = [number for number in range(len(graph.inputs)) if f"x{number}" in wanted]
    nodes = [number for number in range(len(graph.nodes)) if f"n{number}" in wanted]
    return renumbered(graph, inputs, nodes)


def apart(graph: Graph, places: Sequence[int], tensors: Mapping[str, tuple[TensorShape, ArrayLike]]) -> Graph:
    """Return a graph of these nodes alone, each on input data of its own.

    Args:
        tensors: every tensor of the graph with its values when the graph was executed, by name.
    """
    inputs: list[GraphInput] = []
    nodes: list[GraphNode] = []
    for place in places:
        taken = [tensors[name] for name in graph.nodes[place].takes]
        nodes.append(taking(graph.nodes[place], [f"x{len(inputs) + role}" for role in range(len(taken))]))
        inputs += [given(tensor, values) for tensor, values in taken]
    return Graph(inputs=tuple(inputs), nodes=tuple(nodes))


def beside(graph: Graph, other: Graph) -> Graph:
    """Return one graph with the nodes of both: the second graph's inputs and nodes follow, renumbered."""
    names = {f"x{place}": f"x{place + len(graph.inputs)}" for place in range(len(other.inputs))}
    names |= {f"n{place}": f"n{place + len(graph.nodes)}" for place in range(len(other.nodes))}
    nodes = tuple(taking(node, [names[name] for name in node.takes]) for node in other.nodes)
    return Graph(inputs=graph.inputs + other.inputs, nodes=graph.nodes + nodes)


def given(tensor: TensorShape, values: ArrayLike) -> GraphInput:
    """Return an input with these elements."""
    return GraphInput.model_validate({**tensor._asdict(), "values": tuple(map(float, np.ravel(values)))})


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


def rows(graph: Graph, table: Mapping[str, Operator]) -> Graph:
    """Return a graph that applies the single operator of a graph to each row by itself."""
    first, *others = (row(graph, table, place) for place in range(graph.inputs[0].shape[0]))
    return reduce(beside, others, first)


def row(graph: Graph, table: Mapping[str, Operator], place: int) -> Graph:
    """Return a graph that applies the operator of a graph to one row.

    Its inputs are in the operator's order.
    """
    (node,) = graph.nodes
    operator = table[node.operator]
    inputs = []
    for role, each in enumerate(graph.inputs):
        part = each.array[place : place + 1] if _has_rows(operator.inputs[role]) else each.array
        inputs.append(given(_first(operator, role, TensorShape(each.shape, each.dtype)), part))
    return Graph(inputs=tuple(inputs), nodes=(node,))


def _first(operator: Operator, role: int, tensor: TensorShape) -> TensorShape:
    return tensor._replace(shape=(1, *tensor.shape[1:])) if _has_rows(operator.inputs[role]) else tensor


def _has_rows(found: Pattern) -> bool:
    first = found.parts[0]
    return isinstance(first, ast.Name) and first.id == BATCH
