"""Ways to execute a call of TensorFlow that make it execute further operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tensorflow as tf

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.dialect import REFERENCE
from fuzz_core.adapters.modes import Mode
from fuzz_core.ir.values import Prim, Tensor, TestCase


class Differentiated(Mode):
    """The call with its derivative and the derivative of that."""

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Mode`: one that gradients are asked for."""
        if isinstance(live, tf.Tensor) and _slopes(live):
            for tape in self.tapes:
                tape.watch(live)
            self.sources.append(live)
        return live

    def run(self, test: TestCase) -> Any:
        """See `Mode`; the result is None."""
        self.sources: list[Any] = []
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                self.tapes = (outer, inner)
                parts = tf.nest.flatten(super().run(test), expand_composites=True)
            results = [part for part in parts if isinstance(part, tf.Tensor) and _slopes(part)]
            sources = [*self.sources, *inner.watched_variables()]
            slopes = inner.gradient(results, sources) if results and sources else []
            slopes = [tf.convert_to_tensor(slope) for slope in slopes if slope is not None]
        if slopes:
            outer.gradient(slopes, sources)


def _slopes(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


def ways(adapter: Adapter) -> Sequence[Callable[[TestCase], object]]:
    """See `Adapter.neighbours`."""
    differentiated = Differentiated(adapter, REFERENCE)
    return [differentiated.run, *(partial(_run_layer, differentiated, training) for training in (True, False))]


def _run_layer(mode: Mode, training: bool, test: TestCase) -> None:
    """Call a layer in training or in evaluation."""
    call = test.invocation
    if call.api.startswith("tf.keras.layers.") and call.then is not None and call.then.method == "__call__":
        kwargs = {**dict(call.then.kwargs), "training": Prim("bool", training)}
        mode.run(test._replace(invocation=call._replace(then=call.then._replace(kwargs=tuple(kwargs.items())))))
