"""Gradients as training asks for them; what is wrong with these is for other modes to say."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from fuzz_core.adapters.building import Change
from fuzz_core.adapters.modes import Changed
from fuzz_core.ir.dtypes import DTYPES
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.parts import tensors_of
from fuzz_core.ir.values import Ref, Tensor, TestCase


class _Watched:
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

    def instance(self, live: Any) -> Any:
        """See `Change`."""
        return live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        return ref


class Backward(Changed):
    """The call and its backward pass, in its own precision: a crash is all that this can show."""

    relation = ""

    def change(self) -> Change:
        """See `Changed`."""
        self.watched = _Watched()
        return self.watched

    def applies(self, test: TestCase) -> bool:
        """Where there is a floating-point tensor, or an object that may have weights."""
        floating = any(DTYPES[tensor.dtype].kind == "float" for tensor in tensors_of(test.invocation))
        return floating or test.invocation.then is not None

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
