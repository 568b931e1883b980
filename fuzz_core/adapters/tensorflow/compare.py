"""What TensorFlow's leaves are to the comparer, with the tolerances of `tf.test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from fuzz_core.adapters.compare import TOLERANCES, Array, Comparer, Leaf, Parts
from fuzz_core.adapters.tensorflow.keras_versions import VARIABLE
from fuzz_core.ir.dtypes import DTYPES, Tolerance

# Of `tf.test.TestCase.assertAllCloseAccordingToType`, relative and absolute alike; it does not know 8-bit floats.
_SIZES = {"float16": 1e-3, "bfloat16": 1e-2, "float64": 1e-6}
_TOLERANCES = {name: Tolerance(size, size) for name, size in _SIZES.items()}
_TOLERANCES |= {name: tolerance for name, tolerance in TOLERANCES.items() if DTYPES[name].bits == 8}


class TensorFlowComparer(Comparer):
    """Compares what kernels compute: a traced function makes tensors of Python's numbers."""

    converts = True

    def parts(self, value: Any) -> Parts | None:
        """Also those of ragged and sparse tensors, and of objects that TensorFlow nests."""
        if (parts := super().parts(value)) is not None:
            return parts
        try:
            flat = tf.nest.flatten(value, expand_composites=True)
        except (TypeError, ValueError):
            return None
        return None if len(flat) == 1 and flat[0] is value else Parts("composite", dict(enumerate(flat)))

    def missing(self, first: Any, second: Any) -> bool:
        """Of a tensor alone: what an array would hold, a function that is being traced may not know."""
        tensor = any(isinstance(value, tf.Tensor | tf.Variable | VARIABLE) for value in (first, second))
        return tensor and super().missing(first, second)

    def leaf(self, value: Any) -> Leaf | None:
        """Python's numbers are computed by no kernel."""
        return super().leaf(value) if not _is_python(value) else None


def _is_python(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)


def _elements(part: Any) -> Array | None:
    if isinstance(part, VARIABLE):
        part = part.value
    if isinstance(part, tf.Tensor | tf.Variable):
        if part.dtype in (tf.resource, tf.variant) or not hasattr(part, "numpy"):
            return None
        return np.asarray(part.numpy())
    return None


def dtypes(result: Any) -> Iterator[str]:
    """The names of the dtypes of the tensors in a result, in order."""
    for part in COMPARER.leaves(result):
        if isinstance(part, tf.Tensor | tf.Variable | VARIABLE):
            yield tf.as_dtype(part.dtype).name


COMPARER = TensorFlowComparer(_elements, _TOLERANCES)
