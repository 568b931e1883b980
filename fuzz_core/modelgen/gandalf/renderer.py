"""Programs that compute a graph in one library. A program needs only numpy and that library, so a user can run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fuzz_core.ir.rng import derive
from fuzz_core.modelgen.gandalf import templates
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode, shaped, tensors_of
from fuzz_core.modelgen.gandalf.libraries import WRITINGS
from fuzz_core.modelgen.gandalf.patterns import DRAWS, GUARDS, pattern
from fuzz_core.modelgen.gandalf.relations import Relation
from fuzz_core.modelgen.gandalf.shapes import Made, TensorShape
from fuzz_core.modelgen.gandalf.table import OUTPUT, Layout, Library, Operator, Precision, Spelling

MAX_INTEGER = 10


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
    for place, each in enumerate(graph.inputs):
        lines.append(Line(f"x{place} = {_tensor(_drawn(each), library, _dtype(each.dtype, library, precision))}"))
    every = shaped(graph, table)
    tensors = tensors_of(graph, every)
    for place, (node, made) in enumerate(zip(graph.nodes, every, strict=True)):
        operator = table[node.operator]
        spelling = spelled(operator, node, library, through.get(place))
        lines += _Writer(place, node, operator, made, library, precision).lines(spelling, tensors)
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


class _Writer:
    def __init__(
        self, place: int, node: GraphNode, operator: Operator, made: Made, library: Library, precision: Precision
    ) -> None:
        self.name, self.node, self.operator = f"n{place}", node, operator
        self.made, self.library = made, library
        self.precision: Precision = precision
        # An operator that a library has in single precision alone is computed so in double precision programs, too.
        self.single = precision == "float64" and library in operator.single

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


def _dtype(dtype: str, library: Library, precision: Precision) -> str:
    return {"float": precision, "int": WRITINGS[library].integer, "bool": "bool"}[dtype]


def _drawn(each: GraphInput) -> str:
    if each.values:
        return f"np.array({list(each.values)}).reshape({each.shape})"
    generator = f"np.random.RandomState({each.seed})"
    if each.dtype == "float":
        return f"{generator}.standard_normal({each.shape})"
    return f"{generator}.randint(0, {MAX_INTEGER if each.dtype == 'int' else 2}, {each.shape})"


def _tensor(array: str, library: Library, dtype: str) -> str:
    # Programs of both precisions start from the same numbers, so only the computation differs.
    exact = f"{array}.astype('float32').astype('float64')" if dtype == "float64" else f"{array}.astype({dtype!r})"
    return WRITINGS[library].tensor.format(array=exact, dtype=dtype)
