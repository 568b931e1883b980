"""A graph's model as a function that is called once more: trained for a step, or compiled (beyond the paper)."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from textwrap import indent
from typing import TypeGuard

from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.graph import Graph, shaped
from fuzz_core.modelgen.gandalf.libraries import AGAIN, WRITINGS
from fuzz_core.modelgen.gandalf.rendering import Precision, lines_of
from fuzz_core.modelgen.gandalf.table import Library, Operator


def variables(graph: Graph, table: Mapping[str, Operator], libraries: Collection[Library]) -> list[str]:
    """What a model is trained on, by its names in programs: float data, then weights that all libraries take as such.

    Weights that one of them copies into a layer of its own have no gradient there that could be compared.
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
    """The program that ends with `gradients`, one for each of the names, of the loss of a step of training.

    The loss is a sum of all floats that no other node takes, each element by a number of its own; there must be some,
    see `losing`. Raises what `render` does.
    """
    made, writing = shaped(graph, table), AGAIN[library]
    terms = [
        writing.sum.format(f"made[{place}] * {_weights(place, made[place].result.shape, library, precision)}")
        for place in losing(graph, table)
    ]
    step = writing.step.format(values=f"({', '.join(trained)},)", loss=" + ".join(terms))
    return [*function(graph, table, library, precision, trained), step]


def losing(graph: Graph, table: Mapping[str, Operator]) -> list[int]:
    """The nodes that the loss of training is made of."""
    made = shaped(graph, table)
    return [place for place in graph.leaves if made[place].result.dtype == "float"]


def compiling(graph: Graph, table: Mapping[str, Operator], library: Library, precision: Precision) -> list[str]:
    """The program that ends with `made`, every node's result once more, by the library's way to compile a function."""
    names = [f"x{place}" for place in range(len(graph.inputs))]
    return [
        *function(graph, table, library, precision, names),
        AGAIN[library].compiled.format(values=", ".join(names)),
    ]


def function(
    graph: Graph, table: Mapping[str, Operator], library: Library, precision: Precision, takes: Sequence[str]
) -> list[str]:
    """The program as far as its last node, and its model as a function of these names that gives every node's result.

    Layers and weights are those that were made before. What it computes has names of its own: a statement that is
    taken out of it must not leave it with what was computed before. Raises what `render` does.
    """
    lines = lines_of(graph, table, library, precision)
    given = f"return [{', '.join(f'n{place}' for place in range(len(graph.nodes)))}]"
    body = _renamed([*(line.text.rstrip("\n") for line in lines if line.again), given])
    return [*(line.text for line in lines), "", f"def model({', '.join(takes)}):", *body, ""]


def _renamed(body: Sequence[str]) -> list[str]:
    """The statements of the function, with an underscore behind every name that one of them gives."""
    names = {node.id for text in body[:-1] for node in ast.walk(ast.parse(text)) if _is_given(node)}
    pattern = re.compile(rf"\b({'|'.join(sorted(names))})\b")
    return [indent(pattern.sub(r"\1_", text) if names else text, "    ") for text in body]


def _is_given(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def results(name: str) -> str:
    """The line by which whoever runs a program has its arrays: those of a list, without what is None."""
    return f"results = {{place: each.numpy() for place, each in enumerate({name}) if each is not None}}"


def _weights(place: int, shape: tuple[int, ...], library: Library, precision: Precision) -> str:
    drawn = f"np.random.RandomState({place}).standard_normal({shape}).astype('float32').astype({precision!r})"
    return WRITINGS[library].tensor.format(array=drawn, dtype=precision)
