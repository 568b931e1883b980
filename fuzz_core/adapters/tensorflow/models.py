"""What running model programs needs of TensorFlow and Keras."""

from __future__ import annotations

import functools
import importlib
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.common import global_state
from tensorflow.python.eager import context
from tensorflow.python.framework import random_seed

from fuzz_core.adapters.models import Models

# Kernels are kept from one program to the next: without them operations take fifty times as long.
CLEAR_EVERY = 256
_FILTERS = ("keras.src.utils.traceback_utils", "tensorflow.python.util.traceback_utils")
_KERAS = ("global_random_seed", "global_seed_generator")


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
        """The stream that seeds operations, and Keras's generator with the seed that the next one would have."""
        seed, stream = self.context._seed, random.Random()
        place = self.context._rng.getstate()
        attributes = {name: global_state.get_global_attribute(name) for name in _KERAS}
        generator = attributes[_KERAS[1]]
        drawn = None if generator is None else generator.state.numpy()

        def again() -> None:
            if self.drawn:
                self._clear()
            self.context._seed, self.context._rng = seed, stream
            stream.setstate(place)
            for name, value in attributes.items():
                global_state.set_global_attribute(name, value)
            if generator is not None:
                generator.state.assign(drawn)

        return again

    def forget(self) -> None:
        """Keras's names, graphs and settings; now and then kernels."""
        self.programs += 1
        self.context.clear_kernel_cache = lambda: None
        try:
            keras.utils.clear_session(free_memory=False)
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
        before = keras.config.floatx(), keras.config.dtype_policy()
        self._set("float64", "float64")
        try:
            yield
        finally:
            self._set(*before)

    def _set(self, floatx: str, policy: Any) -> None:
        keras.config.set_floatx(floatx)
        keras.config.set_dtype_policy(policy)

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
