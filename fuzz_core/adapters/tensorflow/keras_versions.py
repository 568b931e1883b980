"""What Keras 2 and Keras 3 have in different places."""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Callable

from tensorflow import keras

_DEFINED = keras.layers.Layer.__module__
IS_TWO = ".engine." in _DEFINED
# Where Keras has its own code: `keras`, `keras.src` or `tf_keras.src`.
_SOURCE = re.split(r"\.(?:engine|layers)\.", _DEFINED)[0]
TRACEBACKS = f"{_SOURCE}.utils.traceback_utils"
_ATTRIBUTES = ("global_random_seed", "global_seed_generator")


def clear() -> None:
    """Keras's names, graphs and settings; nothing is collected."""
    keras.backend.clear_session(**({} if IS_TWO else {"free_memory": False}))


def streams() -> Callable[[], None]:
    """Puts the stream that Keras draws seeds from back to where it is now, when it is called."""
    return _stream() if IS_TWO else _generator()


def _stream() -> Callable[[], None]:
    holder = importlib.import_module(f"{_SOURCE}.backend")._SEED_GENERATOR
    drawn = getattr(holder, "generator", None)
    place = None if drawn is None else drawn.getstate()

    def again() -> None:
        holder.generator = None if place is None else random.Random()
        if place is not None:
            holder.generator.setstate(place)

    return again


def _generator() -> Callable[[], None]:
    state = importlib.import_module(f"{_SOURCE}.backend.common.global_state")
    attributes = {name: state.get_global_attribute(name) for name in _ATTRIBUTES}
    generator = attributes[_ATTRIBUTES[1]]
    drawn = None if generator is None else generator.state.numpy()

    def again() -> None:
        for name, value in attributes.items():
            state.set_global_attribute(name, value)
        if generator is not None:
            generator.state.assign(drawn)

    return again
