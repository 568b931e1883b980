"""Programs that call a graph's model a second time: in a step of training, or compiled (beyond the paper)."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from textwrap import indent
from typing import TypeGuard

from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.graph import Graph, shaped
from fuzz_core.modelgen.gandalf.libraries import AGAIN, WRITINGS
from fuzz_core.modelgen.gandalf.renderer import lines_of
from fuzz_core.modelgen.gandalf.table import Library, Operator, Precision


def variables(graph: Graph, table: Mapping[str, Operator], libraries: Collection[Library]) -> list[str]:
    """Return the names in programs of the tensors that a model is trained on.

    The list has the float data, then the weights that every library's spelling uses as tensors. A library that copies a
    weight into a layer of its own has no comparable gradient for that weight.
    """
    found = [f"x{place}" for place, each in enumerate(graph.inputs) if each.dtype == "float"]
    for place, node in enumerate(graph.nodes):
        spelled = [table[node.operator].spelled[library] for library in libraries]
        found += [
            f"n{place}_{name}"
            for name in table[node.operator].weights
            if all(name in templates.free(each.call) - templates.free(each.setup) for each in spelled)
        ]
    return found


def training(
    graph: Graph, table: Mapping[str, Operator], library: Library, precision: Precision, trained: Sequence[str]
) -> list[str]:
    """Return the program that ends with `gradients`, one for each trained name, after one step of training.

    The loss is the weighted sum of all float results that no other node takes; every element has a weight of its own.
    At least one such result must exist, see `losing`.

    Raises:
        KeyError, ValueError: as `render`.
    """
    made, writing = shaped(graph, table), AGAIN[library]
    terms = [
        writing.sum.format(f"made[{place}] * {_weights(place, made[place].result.shape, library, precision)}")
        for place in loss_nodes(graph, table)
    ]
    step = writing.step.format(values=f"({', '.join(trained)},)", loss=" + ".join(terms))
    return [*function(graph, table, library, precision, trained), step]


def loss_nodes(graph: Graph, table: Mapping[str, Operator]) -> list[int]:
    """Return the nodes whose results are part of the loss: the float results that no other node takes."""
    made = shaped(graph, table)
    return [place for place in graph.leaves if made[place].result.dtype == "float"]


def compiling(graph: Graph, table: Mapping[str, Operator], library: Library, precision: Precision) -> list[str]:
    """Return the program that ends with `made`, every node's result from the library's compiled model."""
    names = [f"x{place}" for place in range(len(graph.inputs))]
    return [
        *function(graph, table, library, precision, names),
        AGAIN[library].compiled.format(values=", ".join(names)),
    ]


def function(
    graph: Graph, table: Mapping[str, Operator], library: Library, precision: Precision, takes: Sequence[str]
) -> list[str]:
    """Return the program as far as its last node, followed by a function `model` that returns every node's result.

    The function uses the layers and weights that the program has made before. Its own results have new names: if the
    reducer removes a statement from it, the function must fail and not read an earlier result.

    Args:
        takes: the names of the function's arguments.

    Raises:
        KeyError, ValueError: as `render`.
    """
    lines = lines_of(graph, table, library, precision)
    given = f"return [{', '.join(f'n{place}' for place in range(len(graph.nodes)))}]"
    body = _renamed([*(line.text.rstrip("\n") for line in lines if line.again), given])
    return [*(line.text for line in lines), "", f"def model({', '.join(takes)}):", *body, ""]


def _renamed(body: Sequence[str]) -> list[str]:
    """Return the statements of the function, with an underscore behind every name that they assign."""
    names = {node.id for text in body[:-1] for node in ast.walk(ast.parse(text)) if _is_given(node)}
    pattern = re.compile(rf"\b({'|'.join(sorted(names))})\b")
    return [indent(pattern.sub(r"\1_", text) if names else text, "    ") for text in body]


def _is_given(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def results(name: str) -> str:
    """Return the line that collects the arrays of a list of tensors in `results`, without None."""
    return f"results = {{place: each.numpy() for place, each in enumerate({name}) if each is not None}}"


def _weights(place: int, shape: tuple[int, ...], library: Library, precision: Precision) -> str:
    drawn = f"np.random.RandomState({place}).standard_normal({shape}).astype('float32').astype({precision!r})"
    return WRITINGS[library].tensor.format(array=drawn, dtype=precision)
