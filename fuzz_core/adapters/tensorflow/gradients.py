"""What a Keras model trains and no gradient reaches, although its result depends on it.

Only where the library alone can have cut it off: between the weights of a layer of its own and what that layer gives.
Nothing is said of steps (indices, comparisons, rounding), whose slope is 0 wherever there is one, nor of what
`stop_gradient` stops, which is there for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.python.ops import gen_array_ops

# How far a weight is moved, in units of its mean; what share of the largest result has to move by that.
STEP, LEAST = 2.0**-6, 1e-4


class Given(NamedTuple):
    """What a layer gave at one call: tensors, all of which could have a gradient."""

    layer: Any
    tensors: list[Any]


class Recorded(NamedTuple):
    """One use of a model. stopped: what gradients were kept from on purpose."""

    tape: Any
    result: Any
    given: list[Given]
    stopped: list[Any]


def untrained(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """See `Models.untrained`. Raises what the model raises, and LookupError for an operation that has no slope."""
    weights = list(model.trainable_weights)
    used = _recorded(model, args, kwargs, weights)
    missing = _missing(used, weights)
    found = (each for each in missing if _moves(each, used.result, lambda: model(*args, **kwargs)))
    return tuple(sorted(getattr(each, "path", each.name) for each in found))


def _recorded(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], weights: list[Any]) -> Recorded:
    given, stopped = list[Given](), list[Any]()
    with _noted(given, stopped), tf.GradientTape(persistent=True) as tape:
        # What was frozen when it was made, and is no longer, no tape watches by itself.
        tape.watch([_plain(each) for each in weights])
        result = model(*args, **kwargs)
    return Recorded(tape, result, given, [each for each in stopped if isinstance(each, tf.Tensor | tf.Variable)])


def _plain(value: Any) -> Any:
    """TensorFlow's own variable, where Keras has one around it."""
    return value if isinstance(value, tf.Tensor | tf.Variable) else getattr(value, "value", None)


@contextmanager
def _noted(given: list[Given], stopped: list[Any]) -> Iterator[None]:
    """Within it, each layer's results are noted, and what is stopped."""
    called, stops = keras.layers.Layer.__call__, gen_array_ops.stop_gradient

    def calling(layer: Any, *args: Any, **kwargs: Any) -> Any:
        result = called(layer, *args, **kwargs)
        tensors = tf.nest.flatten(result)
        if tf.executing_eagerly() and tensors and all(map(_is_float, tensors)):
            given.append(Given(layer, tensors))
        return result

    def stopping(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - it may be given by its name
        if tf.executing_eagerly():
            stopped.append(_plain(input))
        return stops(input, *args, **kwargs)

    keras.layers.Layer.__call__, gen_array_ops.stop_gradient = calling, stopping
    try:
        yield
    finally:
        keras.layers.Layer.__call__, gen_array_ops.stop_gradient = called, stops


def _is_float(value: Any) -> bool:
    return isinstance(value, tf.Tensor) and value.dtype.is_floating


def _missing(used: Recorded, weights: list[Any]) -> list[Any]:
    """The weights without a gradient of layers whose results got one, but for those that are stopped."""
    variables = [_plain(each) for each in weights]
    slopes, arrived = used.tape.gradient(used.result, [variables, [each.tensors for each in used.given]])
    reached = (each.layer for each, at in zip(used.given, arrived, strict=True) if all(one is not None for one in at))
    owned = {id(weight) for layer in reached if not _is_programs(layer) for weight in _own(layer)}
    left = [w for w, slope in zip(weights, slopes, strict=True) if slope is None and id(w) in owned]
    if not left or not used.stopped:
        return left
    slopes = used.tape.gradient(used.stopped, [_plain(each) for each in left])
    return [weight for weight, slope in zip(left, slopes, strict=True) if slope is None]


def _is_programs(layer: Any) -> bool:
    """Whether what a layer computes is written in the program: its class, or what it was given to compute with."""
    return "__main__" in {getattr(each, "__module__", "") for each in (layer, *vars(layer).values())}


def _own(layer: Any) -> list[Any]:
    """What a layer trains, but for what the layers in it do."""
    inner = {id(w) for each in layer._flatten_layers(include_self=False) for w in each.trainable_weights}
    return [weight for weight in layer.trainable_weights if id(weight) not in inner]


def _moves(weight: Any, result: Any, again: Any) -> bool:
    """Whether the result moves with a weight, half as far with half of it: what takes steps does not."""
    before, value = _numbers(result), np.asarray(weight.numpy())
    # Not the same for all elements: what is normalised again would not show that.
    step = STEP * (np.abs(value).mean() or 1.0) * np.linspace(0.5, 1.5, value.size).reshape(value.shape)
    moved = []
    for part in (1.0, 0.5):
        weight.assign((value + part * step).astype(value.dtype))
        moved.append(_numbers(again()) - before)
    weight.assign(value)
    whole, half = moved
    far = np.abs(whole).max() > LEAST * np.abs(before).max()
    return bool(far and np.linalg.norm(whole - 2 * half) < np.linalg.norm(whole) / 2)


def _numbers(result: Any) -> Any:
    parts = [np.ravel(each.numpy()) for each in tf.nest.flatten(result) if _is_float(each)]
    return np.concatenate(parts).astype(np.float64)
