"""TensorFlow in double precision: the same call, and its derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from fuzz_core.adapters import derivatives, widened
from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.derivatives import STEP, Points, Scalar
from fuzz_core.adapters.dialect import ModeSpec
from fuzz_core.adapters.modes import Clock
from fuzz_core.adapters.tensorflow.keras_versions import in_doubles
from fuzz_core.adapters.tensorflow.modes import SEEDS, draws
from fuzz_core.adapters.tensorflow.tensors import dtypes
from fuzz_core.ir.dtypes import double_of
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Invocation, Prim, Seq, Tensor, TestCase, Value

# So many elements of a tensor are moved alone.
ALONE = 4
FAR = (0.25, -0.25, 16.0, -16.0)
# Inputs of operators that must be what another operator returned: drawn beside its arguments they are not.
RETURNED = ("orig_output", "output_image", "reserve_space", "reserve_space_1", "reserve_space_2", "reserve_space_3")


class Doubled(widened.Doubled):
    """A call whose arguments are doubles: also lists of numbers and what inner calls return.

    What Keras makes follows its default precision, see `keras_versions.in_doubles`.
    """

    module = "tf"

    def __init__(self, adapter: Adapter, spec: ModeSpec, clock: Clock) -> None:
        super().__init__(adapter, spec, clock)
        makers = self.builder.makers
        sequence = makers[Seq]
        makers[Seq] = lambda value: _doubles(sequence(value)) if _are_numbers(value) else sequence(value)
        makers[Invocation] = lambda value: self._as_doubles(self.builder.call(value))

    def numbers(self, live: Any, described: Tensor) -> Any:
        """See `widened.Doubled`."""
        return np.asarray(live)

    def made(self, array: Any, live: Any, described: Tensor) -> Any:
        """See `widened.Doubled`."""
        made = tf.constant(array)
        return tf.Variable(made) if isinstance(live, tf.Variable) else made

    def applies(self, test: TestCase) -> bool:
        """Always: tensors may also be written as lists."""
        return True

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with in_doubles():
            return super().run(test)

    def _as_doubles(self, made: Any) -> Any:
        narrow = isinstance(made, tf.Tensor) and widened.is_narrow(made.dtype.name)
        return tf.cast(made, double_of(made.dtype.name)) if narrow else made


def _are_numbers(value: Value) -> bool:
    """Whether a sequence is what TensorFlow takes for a tensor of floating-point numbers."""
    if isinstance(value, Seq):
        return value.kind != "set" and len(value.items) > 0 and all(map(_are_numbers, value.items))
    return isinstance(value, Prim) and value.type == "float"


def _doubles(numbers: Any) -> Any:
    """The numbers that they are in single precision."""
    try:
        return tf.constant(np.asarray(numbers, dtype="float32").astype(np.float64))
    except ValueError:
        return numbers


class Precise(Doubled, widened.Precise):
    """See `widened.Precise`."""

    def dtypes(self, result: Any) -> Iterable[str]:
        """Those of its tensors."""
        return dtypes(result)


class Gradient(Doubled, derivatives.Gradient):
    """The common part."""

    # A number of Python's is computed by no kernel, and not compared.
    number = np.float64

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point tensor, and no object with state."""
        return derivatives.Gradient.applies(self, test) and test.invocation.then is None

    def is_double(self, leaf: Any) -> bool:
        """See `derivatives.Gradient`."""
        return isinstance(leaf, tf.Tensor) and leaf.dtype == tf.float64

    def live(self, array: Any) -> Any:
        """See `derivatives.Gradient`."""
        return tf.constant(array)

    def copied(self, point: Any) -> Any:
        """The point: tensors are not written into."""
        return point

    def total(self, tensor: Any) -> Any:
        """See `derivatives.Gradient`."""
        return tf.reduce_sum(tensor)

    def slopes(self, scalar: Scalar, points: Points) -> list[Any]:
        """See `derivatives.Gradient`. Raises BuildError where there are none."""
        found = _slopes(scalar, points)
        if all(each is None for each in found):
            raise BuildError("no derivative")
        return [
            None if each is None else tf.reduce_sum(self.along(tuple(point.shape)) * tf.convert_to_tensor(each))
            for each, point in zip(found, points, strict=True)
        ]

    def check(self, scalar: Scalar, points: Points) -> None:
        """Raises BuildError for what is drawn, for what other operators return, which does not move by itself, and for
        slopes that are no derivatives by design: those of what takes steps, as quantisers do.

        Some elements are moved alone: by little the function stays exactly as it is, by much it does not, yet backward
        mode has a slope there.
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
                moved = [self.moved(scalar, points, place, step * alone) != here for step in steps]
                if any(moved[2:]) and not any(moved[:2]):
                    raise BuildError("a step function")


def _slopes(scalar: Scalar, points: Sequence[Any]) -> list[Any]:
    with tf.GradientTape() as tape:
        for point in points:
            tape.watch(point)
        value = scalar(*points)
    found: list[Any] = tape.gradient(value, list(points))
    return found


class Reverse(Gradient):
    """Backward mode; compared with nothing by itself."""

    derivatives = Gradient.slopes


class Numerical(Gradient):
    """Backward mode must agree with difference quotients, where a function is smooth."""

    derivatives = Gradient.quotients
