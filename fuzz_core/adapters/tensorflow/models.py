"""Hooks that TensorFlow and Keras need for running model programs."""

from __future__ import annotations

import functools
import importlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.python.eager import context
from tensorflow.python.framework import random_seed
from tensorflow.python.ops import gen_array_ops

from fuzz_core.adapters.models import Models, announcing, replaced
from fuzz_core.adapters.tensorflow import keras_versions

# Kernels are kept from one program to the next: cold operations take fifty times as long.
CLEAR_EVERY = 256
_FILTERS = (keras_versions.TRACEBACKS, "tensorflow.python.util.traceback_utils")
# Calls that receive a loss, and how to get the loss from their arguments. A loss that a tape gets from a graph has no
# value.
_TOLD: tuple[tuple[type, str, Callable[..., Any]], ...] = (
    (tf.GradientTape, "gradient", lambda tape, target, *args, **kwargs: target),
    (keras.callbacks.History, "on_epoch_end", lambda history, epoch, logs: logs["loss"]),
)


class TensorFlowModels(Models):
    """A kernel that draws random numbers has a stream of its own, which begins anew when kernels are cleared."""

    layer, computes = keras.layers.Layer, "call"
    symbolic = keras_versions.SYMBOLIC
    weights = (tf.Variable, keras_versions.VARIABLE)

    def __init__(self) -> None:
        self.context = context.context()
        self.filters = [importlib.import_module(name) for name in _FILTERS]
        self.programs = 0
        # Whether there may be kernels with a stream.
        self.drawn = True
        random_seed.get_seed = self._noted(random_seed.get_seed)

    def _noted(self, get_seed: Callable[[int | None], Any]) -> Callable[[int | None], Any]:
        """Return a replacement of the function that seeds operations with such kernels; it records each call."""

        @functools.wraps(get_seed)
        def noted(seed: int | None) -> Any:
            self.drawn = True
            return get_seed(seed)

        return noted

    def _clear(self) -> None:
        self.context.clear_kernel_cache()
        self.drawn = False

    def streams(self) -> Callable[[], None] | None:
        """Return a function that restores the stream that seeds operations, and Keras's stream."""
        seed, stream = self.context._seed, random.Random()
        place, others = self.context._rng.getstate(), keras_versions.streams()

        def again() -> None:
            if self.drawn:
                self._clear()
            self.context._seed, self.context._rng = seed, stream
            stream.setstate(place)
            others()

        return again

    def forget(self) -> None:
        """Clear Keras's names, graphs and settings, and now and then kernels."""
        self.programs += 1
        self.context.clear_kernel_cache = lambda: None
        try:
            keras_versions.clear()
        finally:
            del self.context.clear_kernel_cache
        if self.programs % CLEAR_EVERY == 0:
            self._clear()

    @contextmanager
    def program(self) -> Iterator[None]:
        """Return a context for a program, in which tracebacks keep all frames and a seed rarely clears kernels.

        Filters let all frames pass; if they were switched off, Keras would describe a call differently. A seed that is
        set clears kernels only if there are any with a stream.
        """
        with ExitStack() as stack:
            for module in self.filters:
                stack.enter_context(replaced(module, "_process_traceback_frames", lambda _: lambda trace: trace))
            stack.enter_context(replaced(self.context, "_set_global_seed", self._seeded))
            yield

    def _seeded(self, set_seed: Callable[[Any], None]) -> Callable[[Any], None]:
        def seeded(seed: Any) -> None:
            handle = self.context._context_handle
            # If there is no context handle, there are no kernels to be cleared.
            self.context._context_handle = handle if self.drawn else None
            try:
                set_seed(seed)
            finally:
                self.context._context_handle = handle
            self.drawn = False

        return seeded

    def doubles(self) -> AbstractContextManager[None]:
        """Return a context with Keras's default dtype and policy in doubles; TensorFlow itself has no such setting."""
        return keras_versions.doubles()

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return the call as a graph."""
        made: Callable[..., Any] = tf.function(lambda *args, **kwargs: call(*args, **kwargs), autograph=False)
        return made

    def numbers(self, layer: Any) -> Iterable[Any]:
        """Return weights, also those that are not trained."""
        return list(layer.weights)

    @contextmanager
    def losses(self, note: Callable[[float], object]) -> Iterator[None]:
        """Note losses that a tape differentiates, and losses that Keras records for each epoch of `fit`."""
        with ExitStack() as stack:
            for owner, name, loss in _TOLD:
                stack.enter_context(replaced(owner, name, partial(announcing, number=loss, note=note)))
            yield

    def untrained(self, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
        """Return weights that a tape finds no gradient for, see `gradients`; empty if the model fails on a tape."""
        try:
            return untrained(model, args, kwargs)
        except Exception:  # noqa: BLE001 - a model that cannot be used on a tape tells nothing
            return ()


# How far a weight is moved, in units of its mean; what share of the largest result has to move by that.
STEP, LEAST = 2.0**-6, 1e-4


def untrained(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
    """See `Models.untrained`.

    Considers only gradients that the library alone can have cut off: between the weights of a layer of its own and the
    layer's result. Steps (indices, comparisons, rounding) do not count, because their slope is 0. Tensors that
    `stop_gradient` stops do not count, as that is its purpose.

    Raises:
        LookupError: an operation has no slope.
        Exception: the model's own.
    """
    # `given` has each layer with its result at one call, if all of that result could have a gradient. `stopped` has the
    # tensors that were kept from gradients.
    given, stopped = list[tuple[Any, list[Any]]](), list[Any]()

    def calling(called: Callable[..., Any]) -> Callable[..., Any]:
        def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
            result = called(layer, *args, **kwargs)
            tensors = tf.nest.flatten(result)
            if tf.executing_eagerly() and tensors and all(map(_is_float, tensors)):
                given.append((layer, tensors))
            return result

        return call

    def stopping(stops: Callable[..., Any]) -> Callable[..., Any]:
        def stop(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - it may be given by its name
            if tf.executing_eagerly() and isinstance(_plain(input), tf.Tensor | tf.Variable):
                stopped.append(_plain(input))
            return stops(input, *args, **kwargs)

        return stop

    weights = list(model.trainable_weights)
    noted = replaced(keras.layers.Layer, "__call__", calling), replaced(gen_array_ops, "stop_gradient", stopping)
    with noted[0], noted[1], tf.GradientTape(persistent=True) as tape:
        # A tape does not watch by itself weights that were frozen when they were made and are trainable now.
        tape.watch([_plain(each) for each in weights])
        result = model(*args, **kwargs)
    arrived = tape.gradient(result, [tensors for _, tensors in given])
    reached = (layer for (layer, _), at in zip(given, arrived, strict=True) if all(one is not None for one in at))
    owned = {id(weight) for layer in reached if not _is_programs(layer) for weight in _own(layer)}
    left = _without([each for each in weights if id(each) in owned], tape, result)
    left = _without(left, tape, stopped) if stopped else left
    found = (each for each in left if _moves(each, result, lambda: model(*args, **kwargs)))
    return tuple(sorted(getattr(each, "path", each.name) for each in found))


def _without(weights: list[Any], tape: Any, result: Any) -> list[Any]:
    """Return the weights that get no gradient from a result."""
    slopes = tape.gradient(result, [_plain(each) for each in weights])
    return [weight for weight, slope in zip(weights, slopes, strict=True) if slope is None]


def _plain(value: Any) -> Any:
    """Return TensorFlow's own variable, if Keras has wrapped one."""
    return value if isinstance(value, tf.Tensor | tf.Variable) else getattr(value, "value", None)


def _is_float(value: Any) -> bool:
    return isinstance(value, tf.Tensor) and value.dtype.is_floating


def _is_programs(layer: Any) -> bool:
    """Return whether the program defines the computation of a layer: its class, or a function that it was given."""
    return "__main__" in {getattr(each, "__module__", "") for each in (layer, *vars(layer).values())}


def _own(layer: Any) -> list[Any]:
    """Return the weights that a layer trains, without those of its inner layers."""
    inner = {id(w) for each in layer._flatten_layers(include_self=False) for w in each.trainable_weights}
    return [weight for weight in layer.trainable_weights if id(weight) not in inner]


def _moves(weight: Any, result: Any, again: Any) -> bool:
    """Return whether the result moves with a weight, half as far with half of the step: a step function does not."""
    before, value = _numbers(result), np.asarray(weight.numpy())
    # The step differs between elements, because normalisation would hide an equal step.
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
