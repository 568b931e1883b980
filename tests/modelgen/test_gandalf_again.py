"""Tests of a model as a function: its results depend on its arguments, and on no earlier result."""

from __future__ import annotations

import ast
import re

import pytest

from fuzz_core.modelgen.gandalf.generation import generate, grammar
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode
from fuzz_core.modelgen.gandalf.renderer import compiling, loss_nodes, training, variables
from fuzz_core.modelgen.gandalf.table import LIBRARIES, Library, load

CHAIN = Graph(
    inputs=(GraphInput(shape=(2, 3), seed=7),),
    nodes=(GraphNode(operator="log", takes=("x0",)), GraphNode(operator="tanh", takes=("n0",))),
)


def model(lines: list[str]) -> ast.FunctionDef:
    tree = ast.parse("\n".join(lines))
    return next(node for node in tree.body if isinstance(node, ast.FunctionDef))


def test_its_results_have_names_of_their_own() -> None:
    function = model(training(CHAIN, load(), "torch", "float64", ["x0"]))
    written = [ast.unparse(each) for each in function.body]
    assert written == ["n0_x_ = abs(x0) + 0.5", "n0_ = torch.log(n0_x_)", "n1_ = torch.tanh(n0_)", "return [n0_, n1_]"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_result_from_before_gets_into_it(library: Library) -> None:
    operators = grammar(load(), LIBRARIES, "cv")
    for seed in range(60):
        graph = generate(operators, seed)
        names = variables(graph, load(), LIBRARIES)
        programs = [compiling(graph, load(), library, "float64")]
        if names and loss_nodes(graph, load()):
            programs.append(training(graph, load(), library, "float64", names))
        for lines in programs:
            function = model(lines)
            loaded = {each.id for each in ast.walk(function) if isinstance(each, ast.Name)}
            assert not {name for name in loaded if re.fullmatch(r"n\d+", name)}
