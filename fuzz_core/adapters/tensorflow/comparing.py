"""Whether two results of TensorFlow agree, by the tolerances of `tf.test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from fuzz_core.adapters.comparing import Array, Comparing, Tolerance
from fuzz_core.adapters.tensorflow.keras_versions import VARIABLE

# Of `tf.test.TestCase.assertAllCloseAccordingToType`, relative and absolute alike; 8-bit floats, which it does not
# know, by their own epsilon.
_TOLERANCES = {"float16": 1e-3, "bfloat16": 1e-2, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26, "float64": 1e-6}


def leaves(result: Any) -> list[Array | None]:
    """The parts of a result in order, also of ragged, sparse and nested ones; None for what no kernel computes."""
    try:
        parts = tf.nest.flatten(result, expand_composites=True)
    except (TypeError, ValueError):
        return []
    return [_elements(part) for part in parts]


def _elements(part: Any) -> Array | None:
    if isinstance(part, VARIABLE):
        part = part.value
    if isinstance(part, tf.Tensor | tf.Variable):
        if part.dtype in (tf.resource, tf.variant) or not hasattr(part, "numpy"):
            return None
        return np.asarray(part.numpy())
    return np.asarray(part) if isinstance(part, np.ndarray | np.generic) else None


def dtypes(result: Any) -> Iterator[str]:
    """The names of the dtypes of the tensors in a result, in order."""
    for part in tf.nest.flatten(result, expand_composites=True):
        if isinstance(part, tf.Tensor | tf.Variable | VARIABLE):
            yield tf.as_dtype(part.dtype).name


COMPARING = Comparing(leaves, {name: Tolerance(size, size) for name, size in _TOLERANCES.items()})
