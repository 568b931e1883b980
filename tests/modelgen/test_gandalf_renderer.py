"""Tests of programs: each program is Python that stands alone, and computes the same in every library."""

from __future__ import annotations

import ast

import pytest

from fuzz_core.modelgen.gandalf.generation import alone, generate, grammar
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode
from fuzz_core.modelgen.gandalf.relations import RELATIONS
from fuzz_core.modelgen.gandalf.renderer import render
from fuzz_core.modelgen.gandalf.shapes import ShapeError
from fuzz_core.modelgen.gandalf.table import LIBRARIES, MODULES, Library, Precision, load

CHAIN = Graph(
    inputs=(GraphInput(shape=(1, 2, 4, 5), seed=7),),
    nodes=(
        GraphNode(operator="log", takes=("x0",)),
        GraphNode(operator="max_pool2d", takes=("n0",), parameters={"k": 2, "s": 2}),
    ),
)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_every_operator_is_written_as_python(library: Library, precision: Precision) -> None:
    for operator in load().values():
        if library in operator.spelled:
            _check(render(alone(operator, 0), load(), library, precision), library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_graph_is_written_as_python(library: Library) -> None:
    operators = grammar(load(), (library,), "cv")
    for seed in range(50):
        _check(render(generate(operators, seed), load(), library), library)


def test_values_are_guarded_and_axes_are_moved_there_and_back() -> None:
    lines = render(CHAIN, load(), "tensorflow").splitlines()
    assert "n0_x = abs(x0) + 0.5" in lines
    assert "n0 = tf.math.log(n0_x)" in lines
    assert "n1_x = tf.transpose(n0, (0, 2, 3, 1))" in lines
    assert "n1 = tf.transpose(tf.nn.max_pool2d(n1_x, 2, 2, 'VALID'), (0, 3, 1, 2))" in lines
    assert lines[-1] == "results = {0: n0.numpy(), 1: n1.numpy()}"


def test_data_is_the_same_in_every_library_and_precision() -> None:
    texts = {
        (library, precision): render(CHAIN, load(), library, precision)
        for library in LIBRARIES
        for precision in ("float32", "float64")
    }
    assert all("RandomState(7).standard_normal((1, 2, 4, 5)).astype('float32')" in text for text in texts.values())
    assert all(("astype('float64')" in text) == (key[1] == "float64") for key, text in texts.items())


def test_a_node_goes_through_a_relation() -> None:
    text = render(CHAIN, load(), "torch", through={1: RELATIONS[6]})
    assert "F.max_pool2d(n0.contiguous(memory_format=torch.channels_last), 2, 2)" in text
    with pytest.raises(ValueError, match="relation 9 does not apply to max_pool2d in torch"):
        render(CHAIN, load(), "torch", through={1: RELATIONS[9]})


def test_constant_weights_are_asked_for() -> None:
    graph = alone(load()["linear"], 0)
    with pytest.raises(ValueError, match="relation 2 does not apply"):
        render(graph, load(), "torch", through={0: RELATIONS[2]})
    constant = graph.nodes[0].model_copy(update={"constants": ("w",)})
    text = render(Graph(inputs=graph.inputs, nodes=(constant,)), load(), "torch", through={0: RELATIONS[2]})
    assert "nn.init.constant_" in text and "np.full" in text


def test_an_invalid_graph_is_not_written() -> None:
    with pytest.raises(ShapeError):
        render(
            Graph(inputs=(GraphInput(shape=(2,)),), nodes=(GraphNode(operator="conv2d", takes=("x0",)),)),
            load(),
            "torch",
        )


def _check(text: str, library: Library) -> None:
    """Checks that a program imports numpy and its library alone, and uses no name that it does not define."""
    tree = ast.parse(text)
    roots = {"torch": "torch", "tensorflow": "tensorflow", "jittor": "jittor"}
    modules = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {module.partition(".")[0] for module in modules} == {"numpy", roots[library]}
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)} | {"np", *MODULES[library]}
    made |= {each.arg for node in ast.walk(tree) if isinstance(node, ast.Lambda) for each in node.args.args}
    assert {node.id for node in names} - made <= set(dir(__builtins__)) | set(__builtins__)  # type: ignore[arg-type]
