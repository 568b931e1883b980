"""What running model programs needs of TensorFlow and Keras."""

from __future__ import annotations

import functools
import importlib
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import tensorflow as tf
from tensorflow import keras
from tensorflow.python.eager import context
from tensorflow.python.framework import random_seed

from fuzz_core.adapters.models import Models
from fuzz_core.adapters.tensorflow import gradients, keras_versions

# Kernels are kept from one program to the next: without them operations take fifty times as long.
CLEAR_EVERY = 256
_FILTERS = (keras_versions.TRACEBACKS, "tensorflow.python.util.traceback_utils")
# What is told of a loss, and the loss by the arguments; what a tape gets from a graph has no value.
_TOLD: tuple[tuple[type, str, Callable[..., Any]], ...] = (
    (tf.GradientTape, "gradient", lambda tape, target, *args, **kwargs: target),
    (keras.callbacks.History, "on_epoch_end", lambda history, epoch, logs: logs["loss"]),
)


class Passing(keras.layers.Layer):  # type: ignore[misc] # no stubs
    """See `Models.passing`."""

    def __init__(self, note: Callable[[Any], object]) -> None:
        super().__init__()
        self.note = note

    def call(self, value: Any) -> Any:
        """The value."""
        self.note(value)
        return value


class TensorFlowModels(Models):
    """A kernel that draws random numbers has a stream of its own, which begins anew when kernels are cleared."""

    layer = keras.layers.Layer

    def __init__(self) -> None:
        self.context = context.context()
        self.filters = [importlib.import_module(name) for name in _FILTERS]
        self.programs = 0
        # Whether there may be kernels with a stream.
        self.drawn = True
        random_seed.get_seed = self._noted(random_seed.get_seed)

    def _noted(self, get_seed: Callable[[int | None], Any]) -> Callable[[int | None], Any]:
        """What operations with such kernels ask for their seeds."""

        @functools.wraps(get_seed)
        def noted(seed: int | None) -> Any:
            self.drawn = True
            return get_seed(seed)

        return noted

    def _clear(self) -> None:
        self.context.clear_kernel_cache()
        self.drawn = False

    def streams(self) -> Callable[[], None] | None:
        """The stream that seeds operations, and Keras's."""
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
        """Keras's names, graphs and settings; now and then kernels."""
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
        """Filters let all frames pass (to switch them off would change what Keras says of a call), and a seed that is
        set clears kernels only where there are any with a stream."""
        replaced = [(module, "_process_traceback_frames", lambda trace: trace) for module in self.filters]
        replaced.append((self.context, "_set_global_seed", self._seeded(self.context._set_global_seed)))
        with ExitStack() as stack:
            for owner, name, function in replaced:
                stack.callback(setattr, owner, name, getattr(owner, name))
                setattr(owner, name, function)
            yield

    def _seeded(self, set_seed: Callable[[Any], None]) -> Callable[[Any], None]:
        def seeded(seed: Any) -> None:
            handle = self.context._context_handle
            # Without one there are no kernels to be cleared.
            self.context._context_handle = handle if self.drawn else None
            try:
                set_seed(seed)
            finally:
                self.context._context_handle = handle
            self.drawn = False

        return seeded

    @contextmanager
    def doubles(self) -> Iterator[None]:
        """By Keras's default dtype and policy; TensorFlow itself has none."""
        before = keras.backend.floatx(), keras.mixed_precision.global_policy()
        self._set("float64", "float64")
        try:
            yield
        finally:
            self._set(*before)

    def _set(self, floatx: str, policy: Any) -> None:
        keras.backend.set_floatx(floatx)
        keras.mixed_precision.set_global_policy(policy)

    def passing(self, note: Callable[[Any], object]) -> Any:
        """A layer."""
        return Passing(note)

    def compiled(self, call: Callable[..., Any]) -> Callable[..., Any] | None:
        """As a graph."""
        made: Callable[..., Any] = tf.function(lambda *args, **kwargs: call(*args, **kwargs), autograph=False)
        return made

    def numbers(self, layer: Any) -> Iterable[Any]:
        """Weights, also those that are not trained."""
        return list(layer.weights)

    @contextmanager
    def losses(self, note: Callable[[float], object]) -> Iterator[None]:
        """What a tape is asked gradients of, and what Keras keeps of each epoch of `fit`."""
        with ExitStack() as stack:
            for owner, name, loss in _TOLD:
                original = getattr(owner, name)
                stack.callback(setattr, owner, name, original)
                setattr(owner, name, _telling(original, loss, note))
            yield

    def untrained(self, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[str, ...]:
        """By a tape, see `gradients`."""
        try:
            return gradients.untrained(model, args, kwargs)
        except Exception:  # noqa: BLE001 - a model that cannot be used on a tape tells nothing
            return ()


def _telling(
    original: Callable[..., Any], loss: Callable[..., Any], note: Callable[[float], object]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        with suppress(Exception):
            note(float(loss(*args, **kwargs)))
        return original(*args, **kwargs)

    return call
