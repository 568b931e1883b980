"""Gradients as training asks for them; what is wrong with these is for other modes to say."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from fuzz_core.adapters.building import Change, Unchanged
from fuzz_core.adapters.modes import Trained
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Tensor, TestCase


class _Watched(Unchanged):
    """Tensors that gradients are asked for."""

    def __init__(self) -> None:
        self.tape = tf.GradientTape()
        self.tensors: list[Any] = []

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        if isinstance(live, tf.Tensor) and live.dtype.is_floating:
            self.tape.watch(live)
            self.tensors.append(live)
        return live


class Backward(Trained):
    """See `Trained`."""

    def change(self) -> Change:
        """See `Changed`."""
        self.watched = _Watched()
        return self.watched

    def run(self, test: TestCase) -> Any:
        """See `Mode`: nothing. Raises BuildError where nothing is differentiable."""
        watched = self.watched
        watched.tape, watched.tensors = tf.GradientTape(), []
        with watched.tape:
            parts = tf.nest.flatten(super().run(test), expand_composites=True)
        results = [part for part in parts if isinstance(part, tf.Tensor) and part.dtype.is_floating]
        sources = [*watched.tensors, *watched.tape.watched_variables()]
        if not results or not sources:
            raise BuildError("nothing to differentiate")
        watched.tape.gradient(results, sources)
