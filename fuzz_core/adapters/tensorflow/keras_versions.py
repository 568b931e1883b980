"""Names and settings that Keras 2 and Keras 3 keep in different places."""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import tensorflow as tf
from tensorflow import keras

from fuzz_core.adapters.models import replaced, switched

_DEFINED = keras.layers.Layer.__module__
IS_TWO = ".engine." in _DEFINED
# Root of Keras's own code: `keras`, `keras.src` or `tf_keras.src`.
_SOURCE = re.split(r"\.(?:engine|layers)\.", _DEFINED)[0]
TRACEBACKS = f"{_SOURCE}.utils.traceback_utils"
# Module that holds the stream from which seeds are drawn.
_STATE: Any = importlib.import_module(f"{_SOURCE}.backend" if IS_TWO else f"{_SOURCE}.backend.common.global_state")
_ATTRIBUTES = ("global_random_seed", "global_seed_generator")
_DRAWN = "float32"


class _Absent:
    """Stand-in for a class that a version of Keras lacks, which has no instances."""


VARIABLE: Any = getattr(keras, "Variable", _Absent)
SYMBOLIC: Any = importlib.import_module(f"{_SOURCE}.engine.keras_tensor").KerasTensor if IS_TWO else keras.KerasTensor
POLICY: Any = keras.mixed_precision.Policy
POLICY_MAP: Any = getattr(getattr(keras, "dtype_policies", None), "DTypePolicyMap", _Absent)
floatx, set_floatx = keras.backend.floatx, keras.backend.set_floatx
policy, set_policy = keras.mixed_precision.global_policy, keras.mixed_precision.set_global_policy


def settings() -> tuple[object, ...]:
    """Return Keras's defaults and its policy of dtypes."""
    return floatx(), keras.backend.epsilon(), keras.backend.image_data_format(), policy().name


def unseeded() -> Callable[[], None]:
    """Return a function that has Keras draw its seeds from Python's stream again, as it does until it is seeded."""
    if not IS_TWO:
        return partial(_STATE.set_global_attribute, "global_seed_generator", None)
    return lambda: vars(_STATE._SEED_GENERATOR).pop("generator", None)


@contextmanager
def doubles() -> Iterator[None]:
    """Make double precision Keras's default dtype and policy within the context."""
    # The policy first: Keras makes its first one from the default dtype.
    with switched(policy, set_policy, "float64"), switched(floatx, set_floatx, "float64"):
        yield


@contextmanager
def in_doubles() -> Iterator[None]:
    """Compute in doubles, on weights that are drawn in the precision that they have in the plain call."""
    if IS_TWO:
        singly = replaced(importlib.import_module(f"{_SOURCE}.engine.base_layer_utils"), "make_variable", _made)
    else:
        singly = replaced(keras.Variable, "_initialize_with_initializer", _initialized)
    with doubles(), singly:
        yield


def _made(drawing: Callable[..., Any]) -> Callable[..., Any]:
    def made(*args: Any, dtype: Any = None, initializer: Any = None, **kwargs: Any) -> Any:
        drawn = _single(initializer) if dtype == tf.float64 and callable(initializer) else initializer
        return drawing(*args, dtype=dtype, initializer=drawn, **kwargs)

    return made


def _initialized(drawing: Callable[..., Any]) -> Callable[..., Any]:
    def initialized(variable: Any, initializer: Any) -> Any:
        if variable._dtype != "float64":
            return drawing(variable, initializer)
        return variable._initialize(lambda: _single(initializer)(variable._shape))

    return initialized


def _single(initializer: Any) -> Callable[..., Any]:
    def drawn(shape: Any, **_: Any) -> Any:
        plain = initializer() if isinstance(initializer, type) else initializer
        return tf.cast(plain(shape, dtype=tf.as_dtype(_DRAWN) if IS_TWO else _DRAWN), tf.float64)

    return drawn


def clear() -> None:
    """Clear Keras's names, graphs and settings, without a garbage collection."""
    keras.backend.clear_session(**({} if IS_TWO else {"free_memory": False}))


def _stream() -> Callable[[], None]:
    holder = _STATE._SEED_GENERATOR
    drawn = getattr(holder, "generator", None)
    place = None if drawn is None else drawn.getstate()

    def again() -> None:
        holder.generator = None if place is None else random.Random()
        if place is not None:
            holder.generator.setstate(place)

    return again


def _generator() -> Callable[[], None]:
    attributes = {name: _STATE.get_global_attribute(name) for name in _ATTRIBUTES}
    generator = attributes[_ATTRIBUTES[1]]
    drawn = None if generator is None else generator.state.numpy()

    def again() -> None:
        for name, value in attributes.items():
            _STATE.set_global_attribute(name, value)
        if generator is not None:
            generator.state.assign(drawn)

    return again


# Puts the stream that Keras draws seeds from back to where it is now, when what it returns is called.
streams = _stream if IS_TWO else _generator
