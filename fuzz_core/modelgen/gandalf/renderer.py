"""Programs that compute a graph in one library. A program needs only numpy and that library, so a user can run it.

Further programs call the graph's model a second time: in a step of training, or compiled (beyond the paper).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import NamedTuple

from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.declarations import DRAWS, GUARDS, pattern
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode, shaped, tensors_of
from fuzz_core.modelgen.gandalf.relations import Relation
from fuzz_core.modelgen.gandalf.shapes import Made, TensorShape
from fuzz_core.modelgen.gandalf.table import OUTPUT, Layout, Library, Operator, Precision, Spelling

# How a numpy generator draws data of each kind; {} is the shape.
DATA = {"float": "standard_normal({})", "int": "randint(0, 10, {})", "bool": "randint(0, 2, {})"}


class Writing(NamedTuple):
    """Templates of the start of a program, of small expressions, and of further calls of the model in one library."""

    start: str  # the first lines; {precision} is float32 or float64
    tensor: str  # a tensor from a numpy array, whose dtype it keeps
    move: str  # a tensor with its axes in another order
    integer: str  # the dtype of integers unless an operator names another one
    cast: str  # a tensor in another dtype
    sum: str  # the sum of all elements
    # Statements that compute `gradients` of {loss} in a step of training. The loss is a function of `made`, the model's
    # results for `values`; a gradient may be None.
    step: str
    compiled: str  # a statement that computes `made` by the compiled model


WRITINGS: dict[Library, Writing] = {
    "torch": Writing(
        start="import numpy as np\nimport torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n"
        "torch.set_grad_enabled(False)\ntorch.set_default_dtype(torch.{precision})\n",
        tensor="torch.tensor({array})",
        move="{tensor}.permute({axes})",
        cast="{tensor}.to(torch.{dtype})",
        integer="int64",
        sum="({}).sum()",
        step="torch.set_grad_enabled(True)\nvalues = [each.clone().requires_grad_() for each in {values}]\n"
        "made = model(*values)\nloss = {loss}\ngradients = [None] * len(values)\n"
        "if loss.requires_grad:\n    gradients = torch.autograd.grad(loss, values, allow_unused=True)",
        compiled='made = torch.compile(model, backend="aot_eager", dynamic=False)({values})',
    ),
    "tensorflow": Writing(
        start="import numpy as np\nimport tensorflow as tf\nfrom tensorflow import keras\n\n"
        'keras.backend.set_floatx("{precision}")\nkeras.mixed_precision.set_global_policy("{precision}")\n',
        tensor="tf.constant({array})",
        move="tf.transpose({tensor}, {axes})",
        cast="tf.cast({tensor}, tf.{dtype})",
        integer="int32",
        sum="tf.reduce_sum({})",
        step="values = [tf.identity(each) for each in {values}]\nwith tf.GradientTape() as tape:\n"
        "    tape.watch(values)\n    made = model(*values)\n    loss = {loss}\n"
        "gradients = [each if each is None else tf.convert_to_tensor(each) for each in tape.gradient(loss, values)]",
        compiled="made = tf.function(model)({values})",
    ),
    "jittor": Writing(
        # Eager execution compiles an operator once for all graphs; lazy execution compiles them together, anew for each
        # graph.
        start="import jittor as jt\nimport numpy as np\nfrom jittor import nn\n\njt.flags.lazy_execution = 0\n",
        tensor="jt.array({array}, {dtype!r})",
        move="{tensor}.permute({axes})",
        cast="{tensor}.{dtype}()",
        integer="int32",
        sum="({}).sum()",
        step="values = [each.clone() for each in {values}]\nmade = model(*values)\nloss = {loss}\n"
        "gradients = jt.grad(loss, values)",
        compiled="with jt.flag_scope(lazy_execution=1):\n    made = model({values})",
    ),
}


def render(
    graph: Graph,
    table: Mapping[str, Operator],
    library: Library,
    precision: Precision = "float32",
    through: Mapping[int, Relation] = {},
) -> str:
    """Write the program of a graph, which ends with `results`: each node's number with its value as a numpy array.

    Args:
        through: relations, by the number of the node that they transform.

    Raises:
        ShapeError: the graph is not valid.
        KeyError: the library has no spelling of an operator.
        ValueError: a relation does not apply to its node.
    """
    lines = written(graph, table, library, precision, through)
    results = ", ".join(f"{place}: n{place}.numpy()" for place in range(len(graph.nodes)))
    return "\n".join([*lines, "", f"results = {{{results}}}", ""])


def written(
    graph: Graph,
    table: Mapping[str, Operator],
    library: Library,
    precision: Precision = "float32",
    through: Mapping[int, Relation] = {},
) -> list[str]:
    """Return the lines of the program as far as its last node; raise what `render` does."""
    return [line.text for line in lines_of(graph, table, library, precision, through)]


class Line(NamedTuple):
    """A line of the program."""

    text: str
    again: bool = False  # whether it computes with the model's data; False if it makes weights or layers once


def lines_of(
    graph: Graph,
    table: Mapping[str, Operator],
    library: Library,
    precision: Precision,
    through: Mapping[int, Relation] = {},
) -> list[Line]:
    """Return the lines of `written` with the purpose of each; raise what `render` does."""
    lines = [Line(WRITINGS[library].start.format(precision=precision))]
    dtypes = {"float": precision, "int": WRITINGS[library].integer, "bool": "bool"}
    for place, each in enumerate(graph.inputs):
        lines.append(Line(f"x{place} = {_tensor(_drawn(each), library, dtypes[each.dtype])}"))
    every = shaped(graph, table)
    tensors = tensors_of(graph, every)
    for place, (node, made) in enumerate(zip(graph.nodes, every, strict=True)):
        operator = table[node.operator]
        spelling = spelled(operator, node, library, through.get(place))
        lines += _Writer(f"n{place}", node, operator, made, library, precision).lines(spelling, tensors)
    return lines


def spelled(operator: Operator, node: GraphNode, library: Library, relation: Relation | None) -> Spelling:
    """Return a node's spelling, plain or through a relation.

    Raises:
        KeyError, ValueError: as `render`.
    """
    if relation is None:
        return operator.spelled[library]
    if not relation.applies_to(operator, library) or not set(relation.constants(operator)) <= set(node.constants):
        raise ValueError(f"relation {relation.number} does not apply to {operator.name} in {library}")
    return relation.transform(operator, library)


@dataclass(frozen=True)
class _Writer:
    name: str
    node: GraphNode
    operator: Operator
    made: Made
    library: Library
    precision: Precision

    @property
    def single(self) -> bool:
        """Whether the library has the operator in single precision alone, in a program of double precision."""
        return self.precision == "float64" and self.library in self.operator.single

    def lines(self, spelling: Spelling, tensors: Mapping[str, TensorShape]) -> Iterator[Line]:
        """Yield the lines of the node.

        Args:
            tensors: all tensors of the graph, by name.
        """
        meanings = {name: repr(each) for name, each in self.made.words.items()}
        meanings[OUTPUT] = repr(self.made.result.shape)
        needed = templates.free(spelling.setup) | templates.free(spelling.call) - templates.assigned(spelling.setup)
        for name in [each for each in self.operator.weights if each in needed]:
            meanings[name] = f"{self.name}_{name}"
            yield Line(f"{meanings[name]} = {self._weight(name)}")
        for name, source in zip(self.operator.takes, self.node.takes, strict=True):
            text = self._prepared(name, source, tensors[source], spelling.layout)
            meanings[name] = source if text == source else f"{self.name}_{name}"
            if text != source:
                yield Line(f"{meanings[name]} = {text}", again=True)
        meanings |= {name: f"{self.name}_{name}" for name in templates.assigned(spelling.setup)}
        if spelling.setup:
            computing = not templates.computed(spelling.setup).isdisjoint(self.operator.takes)
            yield Line(templates.filled(spelling.setup, meanings), computing)
        call = templates.filled(spelling.call, meanings)
        result = _moved(call, len(self.made.result.shape), spelling.layout, self.library, back=True)
        yield Line(f"{self.name} = {self._cast(result, self.made.result, self.precision)}", again=True)

    def _weight(self, name: str) -> str:
        kind = "constant" if name in self.node.constants else pattern(self.operator.weights[name]).kind
        generator = f"np.random.RandomState({derive(self.node.seed, name) % 2**32})"
        array = DRAWS[kind].format(self.made.weights[name], rng=generator)
        return _tensor(f"({array})", self.library, "float32" if self.single else self.precision)

    def _prepared(self, name: str, source: str, tensor: TensorShape, layout: Layout) -> str:
        guard = GUARDS.get(pattern(self.operator.takes[name]).kind, "{0}")
        moved = _moved(guard.format(source), len(tensor.shape), layout, self.library)
        return self._cast(moved, tensor, "float32")

    def _cast(self, text: str, tensor: TensorShape, precision: Precision) -> str:
        """Cast a float tensor at the border of an operator of single precision; other tensors stay as they are."""
        if not self.single or tensor.dtype != "float":
            return text
        plain = text if text.isidentifier() or self.library == "tensorflow" else f"({text})"
        return WRITINGS[self.library].cast.format(tensor=plain, dtype=precision)


def _moved(text: str, rank: int, layout: Layout, library: Library, back: bool = False) -> str:
    axes = _axes(rank, layout)
    if axes == sorted(axes):
        return text
    order = sorted(range(rank), key=axes.__getitem__) if back else axes
    plain = text if text.isidentifier() or (back and library == "tensorflow") else f"({text})"
    return WRITINGS[library].move.format(tensor=plain, axes=tuple(order))


def _axes(rank: int, layout: Layout) -> list[int]:
    """Return the source of each axis of a tensor in a layout.

    Matrices and vectors keep their axes.
    """
    if rank < 3 or layout == "first":
        return list(range(rank))
    return [0, *range(2, rank), 1] if layout == "last" else [*range(2, rank), 0, 1]


def _drawn(each: GraphInput) -> str:
    if each.values:
        return f"np.array({list(each.values)}).reshape({each.shape})"
    return f"np.random.RandomState({each.seed}).{DATA[each.dtype].format(each.shape)}"


def _tensor(array: str, library: Library, dtype: str) -> str:
    # Programs of both precisions start from the same numbers, so only the computation differs.
    exact = f"{array}.astype('float32').astype('float64')" if dtype == "float64" else f"{array}.astype({dtype!r})"
    return WRITINGS[library].tensor.format(array=exact, dtype=dtype)


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
    At least one such result must exist, see `loss_nodes`.

    Raises:
        KeyError, ValueError: as `render`.
    """
    made, writing = shaped(graph, table), WRITINGS[library]
    terms = []
    for place in loss_nodes(graph, table):
        shape = made[place].result.shape
        drawn = f"np.random.RandomState({place}).standard_normal({shape}).astype('float32').astype({precision!r})"
        weights = writing.tensor.format(array=drawn, dtype=precision)
        terms.append(writing.sum.format(f"made[{place}] * {weights}"))
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
        WRITINGS[library].compiled.format(values=", ".join(names)),
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
    body = [line.text.rstrip("\n") for line in lines if line.again]
    given = re.compile(rf"\b({'|'.join(sorted(set[str]().union(*map(templates.assigned, body))))})\b")
    body.append(f"return [{', '.join(f'n{place}' for place in range(len(graph.nodes)))}]")
    renamed = [indent(given.sub(r"\1_", text), "    ") for text in body]
    return [*(line.text for line in lines), "", f"def model({', '.join(takes)}):", *renamed, ""]
