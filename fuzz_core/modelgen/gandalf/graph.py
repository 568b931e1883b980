"""The graph of a model, as it is stored: data that flows through operators (section 4.1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.gandalf.parameters import Value
from fuzz_core.modelgen.gandalf.shapes import Made, TensorShape, infer
from fuzz_core.modelgen.gandalf.table import Operator


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class GraphInput(_Part):
    """Data of the model.

    Floats are normal, integers from 0 to 9.
    """

    shape: tuple[int, ...]
    dtype: Literal["float", "int", "bool"] = "float"
    seed: int = 0  # the seed of numpy's RandomState, 32 bits
    values: tuple[float, ...] = ()  # the elements, in order; empty if they are drawn


class GraphNode(_Part):
    """An operator in a graph."""

    operator: str
    parameters: dict[str, Value] = {}
    takes: tuple[str, ...]  # names of its inputs: `x0` is the first input of the graph, `n0` its first node
    seed: int = 0  # the seed of its weights
    constants: tuple[str, ...] = ()  # the weights that are one constant throughout (relations 2 and 3)


class Graph(_Part):
    """Inputs, and nodes in order of computation.

    A node takes only inputs and earlier nodes, so there is no cycle.
    """

    inputs: tuple[GraphInput, ...]
    nodes: tuple[GraphNode, ...]

    @model_validator(mode="after")
    def _ordered(self) -> Graph:
        known = {f"x{place}" for place in range(len(self.inputs))}
        for place, node in enumerate(self.nodes):
            if strangers := [name for name in node.takes if name not in known]:
                raise ValueError(f"node {place} takes {strangers[0]}, which is no input or earlier node")
            known.add(f"n{place}")
        return self

    @property
    def leaves(self) -> list[int]:
        """The nodes whose result no other node takes."""
        taken = {name for node in self.nodes for name in node.takes}
        return [place for place in range(len(self.nodes)) if f"n{place}" not in taken]


def shaped(graph: Graph, table: Mapping[str, Operator]) -> list[Made]:
    """Infer the result of each node.

    Raises:
        ShapeError: a node takes inputs that its operator does not take.
        KeyError: an operator is unknown.
    """
    tensors, made = tensors_of(graph, ()), list[Made]()
    for place, node in enumerate(graph.nodes):
        made.append(infer(table[node.operator], [tensors[name] for name in node.takes], node.parameters))
        tensors[f"n{place}"] = made[-1].result
    return made


def tensors_of(graph: Graph, made: Sequence[Made]) -> dict[str, TensorShape]:
    """Return every tensor of a graph by its name, inputs first.

    Args:
        made: the inferred results of its nodes, see `shaped`.
    """
    found = {f"x{place}": TensorShape(each.shape, each.dtype) for place, each in enumerate(graph.inputs)}
    return found | {f"n{place}": each.result for place, each in enumerate(made)}


def canonical(graph: Graph) -> Graph:
    """Return the same graph for all graphs that differ only in numbering and seeds, so that none is executed twice.

    Colour refinement over the inputs and the users of each node distinguishes the nodes.
    """
    colours = _colours(graph)
    depths = _depths(graph)
    nodes = sorted(range(len(graph.nodes)), key=lambda place: (depths[place], colours[f"n{place}"]))
    used = dict.fromkeys(name for place in nodes for name in graph.nodes[place].takes if name.startswith("x"))
    names = {name: f"x{place}" for place, name in enumerate(used)}
    names |= {f"n{old}": f"n{new}" for new, old in enumerate(nodes)}
    inputs = tuple(graph.inputs[int(name[1:])].model_copy(update={"seed": place}) for place, name in enumerate(used))
    return Graph(inputs=inputs, nodes=tuple(_renamed(graph.nodes[old], names, new) for new, old in enumerate(nodes)))


def structure(graph: Graph) -> int:
    """Return a number that depends on the operators and their order of computation, and not on data and parameters."""
    inputs = tuple(GraphInput(shape=()) for _ in graph.inputs)
    nodes = tuple(GraphNode(operator=node.operator, takes=node.takes) for node in graph.nodes)
    return derive(canonical(Graph(inputs=inputs, nodes=nodes)).model_dump_json())


def _renamed(node: GraphNode, names: Mapping[str, str], seed: int) -> GraphNode:
    takes = tuple(names[name] for name in node.takes)
    parameters = dict(sorted(node.parameters.items()))
    constants = tuple(sorted(node.constants))
    return GraphNode(operator=node.operator, parameters=parameters, takes=takes, seed=seed, constants=constants)


def _colours(graph: Graph) -> dict[str, int]:
    colours = {f"x{place}": derive(each.dtype, each.shape) for place, each in enumerate(graph.inputs)}
    for place, node in enumerate(graph.nodes):
        colours[f"n{place}"] = derive(node.operator, sorted(node.parameters.items()), sorted(node.constants))
    for _ in graph.nodes:
        colours = _refined(graph, colours)
    return colours


def _refined(graph: Graph, colours: Mapping[str, int]) -> dict[str, int]:
    """Split each colour: nodes keep a common colour only if their neighbours' colours and roles agree."""
    takes: dict[str, list[int]] = {name: [] for name in colours}
    taken: dict[str, list[tuple[int, int]]] = {name: [] for name in colours}
    for place, node in enumerate(graph.nodes):
        for role, name in enumerate(node.takes):
            takes[f"n{place}"].append(colours[name])
            taken[name].append((role, colours[f"n{place}"]))
    return {name: derive(colour, takes[name], sorted(taken[name])) for name, colour in colours.items()}


def _depths(graph: Graph) -> list[int]:
    depths: list[int] = []
    for node in graph.nodes:
        depths.append(1 + max((depths[int(name[1:])] for name in node.takes if name.startswith("n")), default=0))
    return depths
