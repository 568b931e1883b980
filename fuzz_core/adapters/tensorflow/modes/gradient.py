"""Derivatives, computed in different ways: projections on fixed directions, in double precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from fuzz_core.adapters import derivatives
from fuzz_core.adapters.derivatives import STEP
from fuzz_core.adapters.tensorflow.keras_versions import in_doubles
from fuzz_core.adapters.tensorflow.modes.precision import Doubled
from fuzz_core.adapters.tensorflow.modes.tracing import SEEDS, draws, of_tensors
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.tree import tensors_of
from fuzz_core.ir.values import TestCase

# So many elements of a tensor are moved alone.
ALONE = 4
FAR = (0.25, -0.25, 16.0, -16.0)
# Inputs of operators that must be what another operator returned: drawn beside its arguments they are not.
RETURNED = ("orig_output", "output_image", "reserve_space", "reserve_space_1", "reserve_space_2", "reserve_space_3")

Tensors = Sequence[Any]
Scalar = Callable[..., Any]


def direction(like: Any, turn: float) -> Any:
    """Numbers in [-1, 1] that depend on the place alone."""
    places = tf.range(tf.size(like), dtype=tf.float64)
    return tf.reshape(tf.cos(turn + 1.7 * places), tf.shape(like))


def step_direction(point: Any) -> Any:
    """The direction that a tensor moves in.

    Symmetric for square matrices: those that stand for symmetric ones are read by half, and have derivatives by both.
    """
    along = direction(point, 0.9)
    lengths = tuple(along.shape[-2:])
    return along + tf.linalg.matrix_transpose(along) if len(lengths) == 2 and lengths[0] == lengths[1] else along


class Gradient(Doubled):
    """The common part: the call as a scalar function of its floating-point tensors."""

    against = ""
    relation = ""

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point tensor, and no object with state."""
        floating = any(DTYPES[tensor.dtype].kind == "float" for tensor in tensors_of(test.invocation))
        return floating and test.invocation.then is None

    def run(self, test: TestCase) -> Any:
        """See `Mode`: a number for each tensor, one derivative along a direction; None where TensorFlow has none."""
        with in_doubles():
            scalar, points = self._scalar(test)
            return [None if number is None else np.float64(number) for number in self.derivatives(scalar, points)]

    def derivatives(self, scalar: Scalar, points: Tensors) -> list[Any]:
        """One for each point."""
        raise NotImplementedError

    def _scalar(self, test: TestCase) -> tuple[Scalar, Tensors]:
        call, tensors = of_tensors(*self.builder.parts(test.invocation))
        places = [place for place, tensor in enumerate(tensors) if _differentiable(tensor)]
        if not places:
            raise BuildError("nothing to differentiate by")

        def scalar(*points: Any) -> Any:
            self.adapter.reset(test.seed)
            each = list(tensors)
            for place, point in zip(places, points, strict=True):
                each[place] = point
            return _projected(self.builder.timed(call, each, {}))

        return scalar, [tensors[place] for place in places]


def _differentiable(part: Any) -> bool:
    return isinstance(part, tf.Tensor) and part.dtype == tf.float64


def _projected(result: Any) -> Any:
    parts = [part for part in tf.nest.flatten(result, expand_composites=True) if _differentiable(part)]
    if not parts:
        raise BuildError("nothing to differentiate")
    return tf.add_n([tf.reduce_sum(direction(part, 0.3) * part) for part in parts])


class Reverse(Gradient):
    """Backward mode; compared with nothing by itself."""

    def derivatives(self, scalar: Scalar, points: Tensors) -> list[Any]:
        """See `Gradient`. Raises BuildError where there is no derivative."""
        found = _slopes(scalar, points)
        if all(each is None for each in found):
            raise BuildError("no derivative")
        return [None if each is None else _along(each, point) for each, point in zip(found, points, strict=True)]


def _along(gradient: Any, point: Any) -> Any:
    return tf.reduce_sum(step_direction(point) * tf.convert_to_tensor(gradient))


class Numerical(Gradient):
    """Backward mode must agree with difference quotients, where a function is smooth."""

    against = "grad"
    relation = "gradient"

    def derivatives(self, scalar: Scalar, points: Tensors) -> list[Any]:
        """See `Gradient`. Raises BuildError at kinks and jumps, and where rounding drowns the quotient.

        Nor is a drawn number a function of what it is drawn by, although it has a derivative; and
        arguments that another operator has returned do not move by themselves.
        """
        seen: set[str] = set()
        with self.adapter.operators(seen.add):
            scalar(*points)
        if any(draws(operator.split()[0], SEEDS) for operator in seen):
            raise BuildError("random")
        if any(draws(operator.split()[0], RETURNED) for operator in seen):
            raise BuildError("it takes what another operator has returned")
        _check_slopes(scalar, points)
        return [quotient(scalar, points, place) for place in range(len(points))]


def _check_slopes(scalar: Scalar, points: Tensors) -> None:
    """Raises BuildError for slopes that are no derivatives by design: those of what takes steps, as quantisers do.

    Some elements are moved alone: by little the function stays exactly as it is, by much it does not, yet backward
    mode has a slope there.
    """
    slopes = _slopes(scalar, points)
    here = float(scalar(*points))
    for place, (point, slope) in enumerate(zip(points, slopes, strict=True)):
        if slope is None:
            continue
        sloping = np.flatnonzero(np.asarray(tf.convert_to_tensor(slope)))
        for index in sloping[:: max(1, len(sloping) // ALONE)][:ALONE]:
            alone = tf.reshape(tf.one_hot(int(index), int(tf.size(point)), dtype=tf.float64), point.shape)
            moved = [_along_line(scalar, points, place, step * alone) != here for step in (8 * STEP, -8 * STEP, *FAR)]
            if any(moved[2:]) and not any(moved[:2]):
                raise BuildError("a step function")


def _slopes(scalar: Scalar, points: Tensors) -> list[Any]:
    with tf.GradientTape() as tape:
        for point in points:
            tape.watch(point)
        value = scalar(*points)
    found: list[Any] = tape.gradient(value, list(points))
    return found


def quotient(scalar: Scalar, points: Tensors, place: int) -> float | None:
    """The difference quotient along `step_direction`, see `derivatives`."""
    far = float(tf.reduce_max(tf.abs(points[place]))) if tf.size(points[place]) else 0.0
    return derivatives.quotient(lambda step: _moved(scalar, points, place, step), far)


def _moved(scalar: Scalar, points: Tensors, place: int, step: float) -> float:
    return _along_line(scalar, points, place, step * step_direction(points[place]))


def _along_line(scalar: Scalar, points: Tensors, place: int, by: Any) -> float:
    each = list(points)
    each[place] = points[place] + by
    return float(scalar(*each))
