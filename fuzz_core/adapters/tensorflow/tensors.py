"""TensorFlow's and Keras's tensors as descriptions, and back; and when two results agree."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework.ops import EagerTensor

from fuzz_core.adapters.arrays import KEPT_INTEGERS, fill_of
from fuzz_core.adapters.base import Describe
from fuzz_core.adapters.compare import TOLERANCES, Array, Comparer, Leaf, Parts
from fuzz_core.adapters.tensorflow.keras_versions import SYMBOLIC, VARIABLE
from fuzz_core.ir.dtypes import DTYPES, Tolerance
from fuzz_core.ir.errors import Undescribable
from fuzz_core.ir.values import Invocation, Seq, Tensor, Value, prim

TF_DTYPES = {
    name: found
    for name in DTYPES
    if (found := getattr(tf, name, None) or getattr(tf.dtypes.experimental, name, None)) is not None
}
NAMES = {dtype: name for name, dtype in TF_DTYPES.items()}


def describe_tensor(value: Any, describe: Describe) -> Value | None:
    """Return a tensor or variable of any make; else None.

    Raises:
        Undescribable: symbolic and opaque ones.
    """
    if isinstance(value, EagerTensor):
        return _dense(value, "tensor", describe)
    if isinstance(value, tf.Variable):
        if not tf.executing_eagerly():
            raise Undescribable("variable inside a graph")
        return _dense(value, "variable", describe)
    if isinstance(value, VARIABLE):
        return _keras_variable(value, describe)
    if isinstance(value, SYMBOLIC):
        shape = describe(tuple(value.shape))
        return Invocation("tf.keras.KerasTensor", (shape,), (("dtype", prim(value.dtype)),))
    if isinstance(value, tf.Tensor):
        raise Undescribable("tensor inside a graph")
    if isinstance(value, tf.RaggedTensor):
        return Invocation("tf.RaggedTensor.from_row_splits", (describe(value.values), describe(value.row_splits)))
    if isinstance(value, tf.SparseTensor):
        parts = (value.indices, value.values, value.dense_shape)
        return Invocation("tf.sparse.SparseTensor", tuple(map(describe, parts)))
    if isinstance(value, tf.IndexedSlices):
        parts = (value.values, value.indices, value.dense_shape)
        return Invocation("tf.IndexedSlices", tuple(map(describe, parts)))
    return None


def _keras_variable(value: Any, describe: Describe) -> Value:
    held = value._value
    if not isinstance(held, tf.Variable) or not tf.executing_eagerly():
        raise Undescribable("Keras variable without a value of its own")
    plain = _dense(held, "tensor", describe)
    kwargs = (("dtype", prim(str(value.dtype))), ("trainable", prim(bool(value.trainable))))
    return Invocation("tf.keras.Variable", (plain,), kwargs)


def _dense(value: Any, container: str, describe: Describe) -> Value:
    name = NAMES.get(value.dtype)
    if name is None:
        raise Undescribable(f"{container} of {value.dtype.name}")
    if (array := _values(value)) is None:
        raise Undescribable(f"{container} whose values TensorFlow does not give")
    if name == "string":
        array = np.array(array, dtype=object)
        if not _is_text(array):
            return Invocation("tf.constant", (describe(array.tolist()),))
    else:
        array = array.astype(DTYPES[name].storage, copy=False)
    return Tensor(name, tuple(map(int, array.shape)), fill_of(array, DTYPES[name].kind), container)


def _is_text(array: Any) -> bool:
    """Return whether the elements survive as text: encoded images and serialised messages do not."""
    try:
        return all(b"\0" not in item and item.decode() is not None for item in array.ravel()[:KEPT_INTEGERS])
    except UnicodeDecodeError:
        return False


def live_tensor(array: Any, tensor: Tensor, device: str) -> Any:
    """Return a tensor or variable, row-major for any described strides; it may keep the array as its memory."""
    context.ensure_initialized()
    # An operation with a device, as in tf.constant, would copy the array there. That is four times as slow, and takes 3
    # ms of compilation for each dtype.
    plain = device == "cpu"
    with nullcontext() if plain else tf.device(device):
        held = None if plain else context.context().device_name
        made = EagerTensor(array, held, TF_DTYPES[tensor.dtype].as_datatype_enum)
        return tf.Variable(made) if tensor.container in ("variable", "parameter") else made


def shape_value(shape: Any) -> Value:
    """Return a TensorShape as a list of sizes, None for unknown ones; one of unknown rank by construction."""
    if shape.rank is None:
        return Invocation("tf.TensorShape", (prim(None),))
    return Seq("list", tuple(prim(size) for size in shape.as_list()))


# Tolerances of `tf.test.TestCase.assertAllCloseAccordingToType`, relative and absolute alike; it does not know 8-bit
# floats.
_SIZES = {"float16": 1e-3, "bfloat16": 1e-2, "float64": 1e-6}
_TOLERANCES = {name: Tolerance(size, size) for name, size in _SIZES.items()}
_TOLERANCES |= {name: tolerance for name, tolerance in TOLERANCES.items() if DTYPES[name].bits == 8}


class TensorFlowComparer(Comparer):
    """Compares what kernels compute: a traced function makes tensors of Python's numbers."""

    converts = True

    def parts(self, value: Any) -> Parts | None:
        """Return the parts of containers, of ragged and sparse tensors, and of objects that TensorFlow nests."""
        if (parts := super().parts(value)) is not None:
            return parts
        try:
            flat = tf.nest.flatten(value, expand_composites=True)
        except (TypeError, ValueError):
            return None
        return None if len(flat) == 1 and flat[0] is value else Parts("composite", dict(enumerate(flat)))

    def missing(self, first: Any, second: Any) -> bool:
        """Return whether exactly one of two leaves is None, for tensors alone: a traced function may lack an array."""
        tensor = any(isinstance(value, tf.Tensor | tf.Variable | VARIABLE) for value in (first, second))
        return tensor and super().missing(first, second)

    def leaf(self, value: Any) -> Leaf | None:
        """See `Comparer`; no kernel computes Python's numbers."""
        pythons = isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)
        return None if pythons else super().leaf(value)


def _elements(part: Any) -> Array | None:
    if isinstance(part, VARIABLE):
        part = part.value
    known = isinstance(part, tf.Tensor | tf.Variable) and part.dtype not in (tf.resource, tf.variant)
    return _values(part) if known and hasattr(part, "numpy") else None


def _values(part: Any) -> Array | None:
    """Return the elements; None if TensorFlow does not give them: numpy has no array of an impossible size."""
    try:
        return np.asarray(part.numpy())
    except tf.errors.InvalidArgumentError:
        return None


COMPARER = TensorFlowComparer(_elements, _TOLERANCES)
