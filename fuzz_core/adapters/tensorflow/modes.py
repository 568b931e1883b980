"""Ways to execute a test case with TensorFlow: as a graph, compiled, with the backward pass, in double precision."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from fuzz_core.adapters import doubles
from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.doubles import STEP, Points, Scalar
from fuzz_core.adapters.modes import Clock, Mode, Trained, of_leaves
from fuzz_core.adapters.tensorflow.keras_versions import in_doubles
from fuzz_core.ir.dtypes import double_of
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Invocation, Prim, Seq, Tensor, TestCase, Value

# Documented limits of a graph: it cannot read elements while it is made, make variables, or leave TensorFlow. It cannot
# take the dtype of a list or number from a later tensor, as eager code does: it converts arguments in their order.
_BEYOND_GRAPHS = re.compile(
    r"(?i)symbolic|<tf\.tensor '|graph|eager|tf\.function|singleton|lifted|placeholder|tensorspec|numpy"
    r"|zero or more tensors|non-tensor|tracing|hashable|py_function|keras_?tensor|not iterable|no len\(\)|statically"
    r"|fully[- ]defined|unknown (?:shape|rank)|does not match type \w+ of argument|have types \[.*don't all match"
)
# Documented limits of XLA: a missing operator or dtype, or a shape that depends on the elements.
_BEYOND_XLA = re.compile(
    r"(?i)unsupported op|compile-time constant|not compilable|no registered|not supported|unsupported|dynamic|xla"
    r"|unimplemented|not implemented"
)

# Inputs and attributes of operators that draw random numbers.
SEEDS = ("seed", "seed2", "alg")

Call = Callable[..., Any]


class Traced(Mode):
    """As a graph; it must also be accepted and refused alike."""

    compiled: bool | None = None
    drawing: tuple[str, ...] = ("seed2",)

    def run(self, test: TestCase) -> Any:
        """See `Mode`.

        Raises:
            BuildError: graphs are documented not to do the call, or it draws random numbers.
        """
        function, tensors = of_tensors(*_unnamed(*self.builder.parts(test.invocation)))
        graph = self.traced(function, tensors)
        if any(draws(operation, self.drawing) for operation in _operations(graph.graph)):
            raise BuildError("it draws other numbers by design")
        return self.executed(graph, tensors)

    def traced(self, function: Call, tensors: list[Any]) -> Any:
        """Return the graph of a function of these tensors."""
        call = tf.function(function, autograph=False, jit_compile=self.compiled)
        try:
            return self.builder.timed(call.get_concrete_function, tensors, {})
        except Exception as error:
            if isinstance(error, NotImplementedError | AttributeError) or _BEYOND_GRAPHS.search(str(error)):
                raise BuildError(f"not to be traced: {str(error)[:200]}") from error
            _check_arguments(tensors)
            if tensors and self._is_made_when_told(function, tensors):
                raise BuildError(f"no graph without the elements: {str(error)[:200]}") from error
            raise

    def _is_made_when_told(self, function: Call, tensors: list[Any]) -> bool:
        """Return whether a graph lacks only elements: it may need a number, such as an axis, before it is made."""
        try:
            tf.function(lambda: function(*tensors), autograph=False).get_concrete_function()
        except Exception:  # noqa: BLE001 - what is refused anyway is refused for another reason
            return False
        return True

    def executed(self, graph: Any, tensors: list[Any]) -> Any:
        """Return the result of the graph."""
        return self.builder.timed(graph, tensors, {})


def _check_arguments(tensors: list[Any]) -> None:
    """Raise BuildError for arguments that no graph takes: eager code reads parts of a composite when it uses them."""
    try:
        tf.function(lambda *_: None, autograph=False).get_concrete_function(*tensors)
    except (TypeError, ValueError) as error:
        raise BuildError(f"no arguments of a graph: {str(error)[:200]}") from error


class KnownElements(Traced):
    """Mode as a graph that knows the elements of the tensors; by itself it is not compared."""

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        function, args, keywords = _unnamed(*self.builder.parts(test.invocation))
        return self.executed(self.traced(lambda: function(*args, **keywords), []), [])


class Compiled(Traced):
    """Compiled by XLA.

    It draws random numbers of its own even from given seeds.
    """

    compiled = True
    drawing = SEEDS

    def executed(self, graph: Any, tensors: list[Any]) -> Any:
        """See `Traced`."""
        try:
            return super().executed(graph, tensors)
        except (tf.errors.OpError, TypeError, ValueError) as error:
            if isinstance(error, tf.errors.UnimplementedError) or _BEYOND_XLA.search(str(error)):
                raise BuildError(f"not to be compiled: {str(error)[:200]}") from error
            raise


def _unnamed(function: Call, args: list[Any], keywords: dict[str, Any]) -> tuple[Call, list[Any], dict[str, Any]]:
    """Return a call without the name of its operations, which graphs alone read."""
    try:
        place = list(inspect.signature(function).parameters).index("name")
    except (TypeError, ValueError):
        return function, args, keywords
    named = [None if at == place else argument for at, argument in enumerate(args)]
    return function, named, {key: value for key, value in keywords.items() if key != "name"}


def of_tensors(function: Call, args: list[Any], keywords: dict[str, Any]) -> tuple[Call, list[Any]]:
    """Return a call as a function of its tensors alone, and the tensors, as TensorFlow orders them."""
    tensors = tf.Tensor | tf.Variable | tf.RaggedTensor | tf.SparseTensor | tf.IndexedSlices
    return of_leaves(function, args, dict(sorted(keywords.items())), lambda leaf: isinstance(leaf, tensors))


def _operations(graph: Any) -> Iterable[str]:
    """Return the operators in a graph and in the functions that it calls."""
    for operation in graph.get_operations():
        yield operation.type
    for function in graph._functions.values():
        for node in function.definition.node_def:
            yield node.op


@cache
def draws(operator: str, names: tuple[str, ...]) -> bool:
    """Return whether an operator has an input or an attribute of one of these names, by its definition."""
    definition = op_def_registry.get(operator)
    if definition is None:
        return False
    return any(part.name in names for part in (*definition.attr, *definition.input_arg))


class Backward(Trained):
    """Gradients as training asks for them; what is wrong with these is for other modes to say."""

    def __init__(self, adapter: Adapter, spec: ModeSpec, clock: Clock) -> None:
        super().__init__(adapter, spec, clock)
        self.tensors: list[Any] = []

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: one that gradients are asked for."""
        if isinstance(live, tf.Tensor) and live.dtype.is_floating:
            self.tape.watch(live)
            self.tensors.append(live)
        return live

    def run(self, test: TestCase) -> Any:
        """See `Mode`; the result is None.

        Raises:
            BuildError: no part of the result is differentiable.
        """
        self.tensors = []
        with tf.GradientTape() as self.tape:
            parts = tf.nest.flatten(super().run(test), expand_composites=True)
        results = [part for part in parts if isinstance(part, tf.Tensor) and part.dtype.is_floating]
        sources = [*self.tensors, *self.tape.watched_variables()]
        if not results or not sources:
            raise BuildError("nothing to differentiate")
        self.tape.gradient(results, sources)


# So many elements of a tensor are moved alone.
ALONE = 4
FAR = (0.25, -0.25, 16.0, -16.0)
# Inputs of operators that must be results of an earlier operator, so that drawn numbers do not fit.
RETURNED = ("orig_output", "output_image", "reserve_space", "reserve_space_1", "reserve_space_2", "reserve_space_3")


class Doubled(doubles.Doubled):
    """Mode whose arguments are doubles, including lists of numbers and results of inner calls.

    Objects that Keras makes follow its default precision, see `keras_versions.in_doubles`.
    """

    module = "tf"

    def __init__(self, adapter: Adapter, spec: ModeSpec, clock: Clock) -> None:
        super().__init__(adapter, spec, clock)
        makers = self.builder.makers
        sequence = makers[Seq]
        makers[Seq] = lambda value: _doubles(sequence(value)) if _are_numbers(value) else sequence(value)
        makers[Invocation] = lambda value: self._as_doubles(self.builder.call(value))

    def applies(self, test: TestCase) -> bool:
        """Return True, because tensors may also be written as lists."""
        return True

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with in_doubles():
            return super().run(test)

    def _as_doubles(self, made: Any) -> Any:
        narrow = isinstance(made, tf.Tensor) and doubles.is_narrow(made.dtype.name)
        return tf.cast(made, double_of(made.dtype.name)) if narrow else made


def _are_numbers(value: Value) -> bool:
    """Return whether TensorFlow takes a sequence for a tensor of floating-point numbers."""
    if isinstance(value, Seq):
        return value.kind != "set" and len(value.items) > 0 and all(map(_are_numbers, value.items))
    return isinstance(value, Prim) and value.type == "float"


def _doubles(numbers: Any) -> Any:
    """Return the numbers as they are in single precision."""
    try:
        return tf.constant(np.asarray(numbers, dtype="float32").astype(np.float64))
    except ValueError:
        return numbers


class Precise(Doubled, doubles.Precise):
    """See `doubles.Precise`."""


class Gradient(Doubled, doubles.Gradient):
    """The common part."""

    # A number of Python's is computed by no kernel, and not compared.
    number = np.float64

    def applies(self, test: TestCase) -> bool:
        """Return whether there is a floating-point tensor, and no object with state."""
        return doubles.Gradient.applies(self, test) and test.invocation.then is None

    def is_double(self, leaf: Any) -> bool:
        """See `doubles.Gradient`."""
        return isinstance(leaf, tf.Tensor) and leaf.dtype == tf.float64

    def copied(self, point: Any) -> Any:
        """Return the point itself, because no code writes into tensors."""
        return point

    def total(self, tensor: Any) -> Any:
        """See `doubles.Gradient`."""
        return tf.reduce_sum(tensor)

    def slopes(self, scalar: Scalar, points: Points) -> list[Any]:
        """See `doubles.Gradient`.

        Raises:
            BuildError: no derivative exists.
        """
        found = _slopes(scalar, points)
        if all(each is None for each in found):
            raise BuildError("no derivative")
        return [
            None if each is None else tf.reduce_sum(self.along(tuple(point.shape)) * tf.convert_to_tensor(each))
            for each, point in zip(found, points, strict=True)
        ]

    def check(self, scalar: Scalar, points: Points) -> None:
        """Raise BuildError if the result is no function whose slopes are derivatives.

        There are three cases. The result is drawn. An argument must be the result of an earlier operator. Slopes are no
        derivatives by design, as those of quantisers, which take steps.

        Some elements are moved alone, to find steps. A function takes steps if a small move changes no result and a
        large move does, although backward mode has a slope there.
        """
        seen: set[str] = set()
        with self.adapter.operators(seen.add):
            scalar(*points)
        if any(draws(operator.split()[0], SEEDS) for operator in seen):
            raise BuildError("random")
        if any(draws(operator.split()[0], RETURNED) for operator in seen):
            raise BuildError("it takes what another operator has returned")
        slopes = _slopes(scalar, points)
        here = float(scalar(*points))
        for place, (point, slope) in enumerate(zip(points, slopes, strict=True)):
            sloping: Any = [] if slope is None else np.flatnonzero(np.asarray(tf.convert_to_tensor(slope)))
            for index in sloping[:: max(1, len(sloping) // ALONE)][:ALONE]:
                alone = np.zeros(tuple(point.shape))
                alone.flat[index] = 1.0
                steps = (8 * STEP, -8 * STEP, *FAR)
                moved = [self.value_after_move(scalar, points, place, step * alone) != here for step in steps]
                if any(moved[2:]) and not any(moved[:2]):
                    raise BuildError("a step function")


def _slopes(scalar: Scalar, points: Sequence[Any]) -> list[Any]:
    with tf.GradientTape() as tape:
        for point in points:
            tape.watch(point)
        value = scalar(*points)
    found: list[Any] = tape.gradient(value, list(points))
    return found
