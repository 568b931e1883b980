"""Random graphs by the grammar of definition 2. An operator may follow another if the shapes fit."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from fuzz_core.ir.rng import Rng, derive
from fuzz_core.modelgen.gandalf.declarations import ANY, GUARDS, Pattern, Value, drawn, pattern
from fuzz_core.modelgen.gandalf.graph import Graph, GraphInput, GraphNode
from fuzz_core.modelgen.gandalf.order import Order
from fuzz_core.modelgen.gandalf.shapes import REST, ShapeError, TensorShape, bind, concluded, words_of
from fuzz_core.modelgen.gandalf.table import Domain, Library, Operator

# Chooses the next operator, given the last one and the names of those that may follow (section 4.1.2).
Guide = Callable[[str, Sequence[str]], str]
# Sizes of the dimensions with a fixed meaning; all further dimensions use OTHER.
SIZES: dict[str, tuple[int, ...]] = {"N": (1, 2, 3), "C": (2, 4, 6), "S": (32, 48)}
OTHER = (4, 5, 6, 8)
TRIES = 12
MAX_ELEMENTS = 8192
MAX_RANK = 5


class GraphOptions(NamedTuple):
    """The settings of graph generation.

    Shares are probabilities from 0 to 1.
    """

    least: int = 2  # the fewest inner operators of a graph
    most: int = 10  # the most inner operators of a graph
    branch: float = 0.25  # share of operators that follow an earlier operator than the last
    start: float = 0.1  # share of steps in which another input operator begins a path of its own
    merge: float = 0.8  # share of further operands that are a tensor of the graph, if one fits, and no new data
    constant: float = 0.1  # share of kernels and biases that are one constant
    # Share of operators that follow the grammar's order; shapes alone decide for the remaining ones.
    ordered: float = 0.5
    binding: bool = False  # whether an operator may be followed only by operators that the order names
    sizes: tuple[int, ...] = ()  # sizes for dimensions of new data; if empty, SIZES and OTHER are used


class Grammar(NamedTuple):
    """The operators by symbol, and their partial order: S, V, Σ and R of definition 2."""

    starts: tuple[Operator, ...]
    inner: tuple[Operator, ...]
    ends: tuple[Operator, ...]
    order: Order = Order()

    @property
    def operators(self) -> dict[str, Operator]:
        """The operators of the grammar by name."""
        return {each.name: each for each in (*self.starts, *self.inner, *self.ends)}


def grammar(
    table: Mapping[str, Operator],
    libraries: Collection[Library],
    domain: Domain,
    order: Order = Order(),  # noqa: B008 - immutable
) -> Grammar:
    """Return the grammar of a domain, with the operators that all of the libraries have.

    If one of the libraries is known to compute an operator wrongly, the operator ends a path, whichever symbols it has.
    Results after it would be wrong as well.
    """
    known = [each for each in table.values() if domain in each.domains and set(libraries) <= set(each.spelled)]
    fit = [each.limited(libraries) for each in known]
    wrong = {each.name: each for each in fit if set(libraries) & set(each.wrong)}

    def of(symbol: str) -> tuple[Operator, ...]:
        return tuple(each for each in fit if symbol in each.symbols and each.name not in wrong)

    return Grammar(of("input"), of("inner"), (*of("output"), *wrong.values()), order)


def generate(
    operators: Grammar,
    seed: int,
    guide: Guide | None = None,
    options: GraphOptions = GraphOptions(),  # noqa: B008 - immutable
) -> Graph:
    """Generate a graph whose paths begin with an input operator or data and end with an output operator.

    The same grammar, seed and choices of the guide give the same graph. If there is no guide, all choices are equally
    likely.
    """
    rng = Rng(derive(seed, "graph"))
    growing = _Growing(rng, options, operators.order, guide)
    growing.follow("", operators.starts)
    for _ in range(rng.between(options.least, options.most)):
        if rng.chance(options.start):
            growing.follow("", operators.starts)
        else:
            growing.follow(growing.tip(), operators.inner)
    growing.close(operators.ends)
    return growing.graph()


def alone(operator: Operator, seed: int, options: GraphOptions = GraphOptions(constant=0.0)) -> Graph:  # noqa: B008
    """Return a graph of this operator alone, on new data.

    Raises:
        ShapeError: no parameters that it takes were found.
    """
    growing = _Growing(Rng(derive(seed, operator.name)), options, Order(), None)
    if not growing.put(operator, ""):
        raise ShapeError(f"{operator.name}: no inputs and parameters that hold in {TRIES} tries")
    return growing.graph()


class _Growing:
    """A graph under construction, which is valid after every step."""

    def __init__(self, rng: Rng, options: GraphOptions, order: Order, guide: Guide | None) -> None:
        self.rng, self.options, self.order, self.guide = rng, options, order, guide
        self.inputs: list[GraphInput] = []
        self.nodes: list[tuple[GraphNode, Operator]] = []
        self.tensors: dict[str, TensorShape] = {}

    def graph(self) -> Graph:
        return Graph(inputs=tuple(self.inputs), nodes=tuple(node for node, _ in self.nodes))

    def tip(self) -> str:
        """Return the node that is followed next."""
        last = len(self.nodes) - 1
        return f"n{self.rng.between(0, last) if self.rng.chance(self.options.branch) else last}"

    def follow(self, source: str, operators: Sequence[Operator]) -> bool:
        """Put an operator behind a tensor, or on new data if there is no source; return whether any operator fits."""
        every = _behind(self.tensors[source], operators) if source else operators
        if source and self.options.binding:
            return self._one_of(self.order.named(self._operator(source), every), source)
        if source and self.rng.chance(self.options.ordered):
            ordered = self.order.among(self._operator(source), every)
            return self._one_of(ordered, source) or self._one_of(every, source)
        return self._one_of(every, source)

    def _operator(self, source: str) -> Operator:
        return self.nodes[int(source[1:])][1]

    def _one_of(self, operators: Sequence[Operator], source: str) -> bool:
        fitting = {each.name: each for each in operators}
        before = self._operator(source).name if source else ""
        while fitting:
            names = sorted(fitting)
            chosen = fitting.pop(self.guide(before, names) if self.guide else self.rng.choice(names))
            if self.put(chosen, source):
                return True
        return False

    def close(self, operators: Sequence[Operator]) -> None:
        """Put an end behind every leaf that is no end yet."""
        names = {each.name for each in operators}
        for place in self.graph().leaves:
            ended = self.nodes[place][1].name not in names and self._ended(f"n{place}", operators)
            # An operator that ends paths for being wrong alone hides its result from later nodes.
            if ended and "output" not in self.nodes[-1][1].symbols:
                del self.tensors[f"n{len(self.nodes) - 1}"]

    def _ended(self, source: str, operators: Sequence[Operator]) -> bool:
        """Put an end behind a tensor.

        If no production rule names one, any end that takes the tensor is used.
        """
        if self.follow(source, operators):
            return True
        every = _behind(self.tensors[source], operators) if self.options.binding else ()
        return self._one_of(every, source)

    def put(self, operator: Operator, source: str) -> bool:
        """Put this operator behind a tensor, if inputs and parameters for it are found."""
        for _ in range(TRIES):
            try:
                self._add(operator, source)
            except (ShapeError, ArithmeticError):
                continue
            return True
        return False

    def _add(self, operator: Operator, source: str) -> None:
        """Draw inputs and parameters, and add the node if they hold; otherwise raise an error and change nothing."""
        bound: dict[str, Any] = {}
        takes: list[str | TensorShape] = []
        for place, each in enumerate(operator.inputs):
            taken = source if source and place == 0 else self._operand(each, bound, source)
            takes.append(taken)
            bound = bind(each, self.tensors[taken] if isinstance(taken, str) else taken, bound)
        parameters: dict[str, Value] = {}
        for name, declared in operator.parameters.items():
            parameters[name] = drawn(declared, words_of(bound) | parameters, self.rng)
        result = concluded(operator, bound, parameters).result
        if prod(result.shape) > MAX_ELEMENTS or len(result.shape) > MAX_RANK:
            raise ShapeError("too large")
        names = tuple(each if isinstance(each, str) else self._input(each) for each in takes)
        constants = tuple(
            name for name in operator.weights if name[0] in "wb" and self.rng.chance(self.options.constant)
        )
        seed = self.rng.below(2**32)
        node = GraphNode(operator=operator.name, parameters=parameters, takes=names, seed=seed, constants=constants)
        self.tensors[f"n{len(self.nodes)}"] = result
        self.nodes.append((node, operator))

    def _operand(self, found: Pattern, bound: Mapping[str, Any], source: str) -> str | TensorShape:
        """Return a tensor of the graph for a further input, or new data; without a source, always new data."""
        if source and self.rng.chance(self.options.merge):
            fitting = [name for name, tensor in self.tensors.items() if name != source and _binds(found, tensor, bound)]
            if fitting:
                return self.rng.choice(fitting)
        return _fresh(found, bound, self.rng, self.options.sizes)

    def _input(self, tensor: TensorShape) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs.append(GraphInput.model_validate({**tensor._asdict(), "seed": self.rng.below(2**32)}))
        self.tensors[name] = tensor
        return name


def _behind(tensor: TensorShape, operators: Sequence[Operator]) -> list[Operator]:
    """Return the operators whose first input may be this tensor, and matches a common pattern only once."""
    firsts = [next(iter(each.takes.values())) for each in operators]
    fitting = {text: _binds(pattern(text), tensor, {}) for text in set(firsts)}
    return [each for each, text in zip(operators, firsts, strict=True) if fitting[text]]


def _binds(found: Pattern, tensor: TensorShape, bound: Mapping[str, Any]) -> bool:
    try:
        bind(found, tensor, bound)
    except ShapeError:
        return False
    return True


def _fresh(found: Pattern, bound: Mapping[str, Any], rng: Rng, sizes: Sequence[int]) -> TensorShape:
    dtype = "float" if found.kind in GUARDS else bound.get(ANY, "float") if found.kind == ANY else found.kind
    known = dict(bound)
    shape: list[int] = []
    for part in found.parts:
        if part is None:
            shape += known.setdefault(REST, tuple(rng.choice(sizes or OTHER) for _ in range(rng.between(1, 2))))
        elif isinstance(part, ast.Name):
            shape.append(known.setdefault(part.id, rng.choice(sizes or SIZES.get(part.id, OTHER))))
        elif isinstance(part, ast.Constant) and isinstance(part.value, int):
            shape.append(part.value)
    return TensorShape(tuple(shape), dtype)
