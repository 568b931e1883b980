"""Parts of graphs: the nodes that a node depends on, and single nodes on input data of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode
from fuzz_core.modelgen.gandalf.shapes import TensorShape

Values = Sequence[float]


def above(graph: Graph, place: int) -> Graph:
    """Return the graph of a node and of all nodes that it depends on; the node is the last one."""
    wanted, waiting = {f"n{place}"}, [place]
    while waiting:
        new = set(graph.nodes[waiting.pop()].takes) - wanted
        wanted |= new
        waiting += [int(name[1:]) for name in new if name[0] == "n"]
    inputs = [number for number in range(len(graph.inputs)) if f"x{number}" in wanted]
    nodes = [number for number in range(len(graph.nodes)) if f"n{number}" in wanted]
    names = {f"x{old}": f"x{new}" for new, old in enumerate(inputs)}
    names |= {f"n{old}": f"n{new}" for new, old in enumerate(nodes)}
    return Graph(
        inputs=tuple(graph.inputs[number] for number in inputs),
        nodes=tuple(
            _taking(graph.nodes[number], [names[name] for name in graph.nodes[number].takes]) for number in nodes
        ),
    )


def apart(graph: Graph, places: Sequence[int], tensors: Mapping[str, tuple[TensorShape, Values]]) -> Graph:
    """Return a graph of these nodes alone, each on input data of its own.

    Args:
        tensors: every tensor of the graph with its values when the graph was executed, by name.
    """
    inputs: list[GraphInput] = []
    nodes: list[GraphNode] = []
    for place in places:
        taken = [tensors[name] for name in graph.nodes[place].takes]
        nodes.append(_taking(graph.nodes[place], [f"x{len(inputs) + role}" for role in range(len(taken))]))
        inputs += [given(tensor, values) for tensor, values in taken]
    return Graph(inputs=tuple(inputs), nodes=tuple(nodes))


def beside(graph: Graph, other: Graph) -> Graph:
    """Return one graph with the nodes of both: the second graph's inputs and nodes follow, renumbered."""
    names = {f"x{place}": f"x{place + len(graph.inputs)}" for place in range(len(other.inputs))}
    names |= {f"n{place}": f"n{place + len(graph.nodes)}" for place in range(len(other.nodes))}
    nodes = tuple(_taking(node, [names[name] for name in node.takes]) for node in other.nodes)
    return Graph(inputs=graph.inputs + other.inputs, nodes=graph.nodes + nodes)


def given(tensor: TensorShape, values: Values) -> GraphInput:
    """Return an input with these elements."""
    return GraphInput.model_validate({**tensor._asdict(), "values": tuple(map(float, values))})


def _taking(node: GraphNode, names: Sequence[str]) -> GraphNode:
    return node.model_copy(update={"takes": tuple(names)})
