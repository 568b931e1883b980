"""Tests of graphs: a stored graph is read back equal, and graphs that differ in names alone are one graph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fuzz_core.ir.rng import Rng
from fuzz_core.modelgen.gandalf.generation import generate, grammar
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode, canonical, shaped
from fuzz_core.modelgen.gandalf.table import LIBRARIES, load

GRAMMAR = grammar(load(), ("torch",), "cv")
FORKED = Graph(
    inputs=(GraphInput(shape=(2, 3), seed=5), GraphInput(shape=(2, 3), seed=6)),
    nodes=(
        GraphNode(operator="relu", takes=("x1",), seed=1),
        GraphNode(operator="sigmoid", takes=("x0",), seed=2),
        GraphNode(operator="add", takes=("n1", "n0"), seed=3),
    ),
)
RENAMED = Graph(
    inputs=(GraphInput(shape=(2, 3)), GraphInput(shape=(2, 3))),
    nodes=(
        GraphNode(operator="sigmoid", takes=("x1",)),
        GraphNode(operator="relu", takes=("x0",)),
        GraphNode(operator="add", takes=("n0", "n1")),
    ),
)


@given(st.integers(0, 2**63 - 1))
def test_a_graph_comes_back_from_its_text(seed: int) -> None:
    graph = generate(GRAMMAR, seed)
    assert Graph.model_validate_json(graph.model_dump_json()) == graph


@given(st.integers(0, 2**63 - 1))
def test_the_canonical_form_is_its_own_and_as_valid(seed: int) -> None:
    graph = generate(GRAMMAR, seed)
    once = canonical(graph)
    assert canonical(once) == once
    assert sorted(each.result for each in shaped(once, load())) == sorted(each.result for each in shaped(graph, load()))


@given(st.integers(0, 2**63 - 1))
def test_the_order_of_nodes_makes_no_other_graph(seed: int) -> None:
    graph = generate(GRAMMAR, seed)
    assert canonical(_shuffled(graph, Rng(seed))) == canonical(graph)


def test_names_and_seeds_make_no_other_graph() -> None:
    assert canonical(FORKED) == canonical(RENAMED)


def test_what_is_computed_makes_another_graph() -> None:
    crossed = FORKED.model_copy(update={"nodes": (*FORKED.nodes[:2], GraphNode(operator="add", takes=("n0", "n1")))})
    assert canonical(crossed) != canonical(FORKED)


def test_leaves_are_what_nothing_takes() -> None:
    assert FORKED.leaves == [2]


@pytest.mark.parametrize("name", ["x2", "n0", "n1", "y"])
def test_a_node_takes_inputs_and_earlier_nodes_alone(name: str) -> None:
    with pytest.raises(ValidationError, match=name):
        Graph(inputs=FORKED.inputs, nodes=(GraphNode(operator="relu", takes=(name,)),))


@pytest.mark.parametrize(
    "text",
    [
        '{"inputs": [], "nodes": [], "extra": 1}',
        '{"inputs": [{"shape": ["2"]}], "nodes": []}',
        '{"inputs": [{"shape": [2], "dtype": "complex"}], "nodes": []}',
        '{"inputs": [], "nodes": [{"operator": "relu"}]}',
    ],
)
def test_what_is_stored_is_read_strictly(text: str) -> None:
    with pytest.raises(ValidationError):
        Graph.model_validate_json(text)


def test_a_grammar_has_what_all_libraries_spell() -> None:
    names = grammar(load(), LIBRARIES, "cv").operators
    assert names and all(set(load()[name].spelled) == set(LIBRARIES) for name in names)


def _shuffled(graph: Graph, rng: Rng) -> Graph:
    """Returns the same nodes in another order of computation, and the inputs in reverse."""
    names = {f"x{place}": f"x{len(graph.inputs) - 1 - place}" for place in range(len(graph.inputs))}
    nodes: list[GraphNode] = []
    rest = dict(enumerate(graph.nodes))
    while rest:
        ready = [place for place, node in rest.items() if set(node.takes) <= set(names)]
        chosen = rng.choice(ready)
        takes = tuple(names[name] for name in rest[chosen].takes)
        names[f"n{chosen}"] = f"n{len(nodes)}"
        nodes.append(rest.pop(chosen).model_copy(update={"takes": takes}))
    return Graph(inputs=graph.inputs[::-1], nodes=tuple(nodes))
