"""The graph of a model, as it is stored: data that flows through operators (section 4.1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, model_validator

from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.gandalf.declarations import Value
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

    @property
    def array(self) -> NDArray[Any]:
        """The data, as programs make it."""
        random = np.random.RandomState(self.seed)
        if self.values:
            data = np.array(self.values).reshape(self.shape)
        elif self.dtype == "float":
            data = random.standard_normal(self.shape)
        else:
            data = random.randint(0, 10 if self.dtype == "int" else 2, self.shape)
        return data.astype({"float": np.float32, "int": np.int64, "bool": np.bool_}[self.dtype])


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
    def operators(self) -> tuple[str, ...]:
        """The graph as the paper compares it: its operators, in order of computation."""
        return tuple(node.operator for node in self.nodes)

    @property
    def last(self) -> int:
        """The number of the last node."""
        return len(self.nodes) - 1

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
    used = dict.fromkeys(int(name[1:]) for place in nodes for name in graph.nodes[place].takes if name.startswith("x"))
    found = renumbered(graph, list(used), nodes)
    inputs = tuple(each.model_copy(update={"seed": place}) for place, each in enumerate(found.inputs))
    return Graph(inputs=inputs, nodes=tuple(_plain(node, place) for place, node in enumerate(found.nodes)))


def renumbered(graph: Graph, inputs: Sequence[int], nodes: Sequence[int]) -> Graph:
    """Return the graph of these inputs and nodes, in this order."""
    names = {f"x{old}": f"x{new}" for new, old in enumerate(inputs)}
    names |= {f"n{old}": f"n{new}" for new, old in enumerate(nodes)}
    return Graph(
        inputs=tuple(graph.inputs[number] for number in inputs),
        nodes=tuple(
            taking(graph.nodes[number], [names[name] for name in graph.nodes[number].takes]) for number in nodes
        ),
    )


def taking(node: GraphNode, names: Sequence[str]) -> GraphNode:
    """Return the node with other inputs."""
    return node.model_copy(update={"takes": tuple(names)})


def structure(graph: Graph) -> int:
    """Return a number that depends on the operators and their order of computation, and not on data and parameters."""
    inputs = tuple(GraphInput(shape=()) for _ in graph.inputs)
    nodes = tuple(GraphNode(operator=node.operator, takes=node.takes) for node in graph.nodes)
    return derive(canonical(Graph(inputs=inputs, nodes=nodes)).model_dump_json())


def _plain(node: GraphNode, seed: int) -> GraphNode:
    parameters, constants = dict(sorted(node.parameters.items())), tuple(sorted(node.constants))
    return node.model_copy(update={"parameters": parameters, "constants": constants, "seed": seed})


def _colours(graph: Graph) -> dict[str, int]:
    """Return a colour for each input and node; equal colours may be exchanged."""
    colours = {f"x{place}": derive(each.dtype, each.shape) for place, each in enumerate(graph.inputs)}
    for place, node in enumerate(graph.nodes):
        colours[f"n{place}"] = derive(node.operator, sorted(node.parameters.items()), sorted(node.constants))
    for _ in graph.nodes:
        # Nodes keep a common colour only if their neighbours' colours and roles agree.
        takes: dict[str, list[int]] = {name: [] for name in colours}
        taken: dict[str, list[tuple[int, int]]] = {name: [] for name in colours}
        for place, node in enumerate(graph.nodes):
            for role, name in enumerate(node.takes):
                takes[f"n{place}"].append(colours[name])
                taken[name].append((role, colours[f"n{place}"]))
        colours = {name: derive(colour, takes[name], sorted(taken[name])) for name, colour in colours.items()}
    return colours


def _depths(graph: Graph) -> list[int]:
    depths: list[int] = []
    for node in graph.nodes:
        depths.append(1 + max((depths[int(name[1:])] for name in node.takes if name.startswith("n")), default=0))
    return depths
