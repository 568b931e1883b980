"""The same call in double precision, on exactly the same numbers: what other modes are judged by."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from fuzz_core.adapters.base import Adapter
from fuzz_core.adapters.building import Change
from fuzz_core.adapters.doubling import nudged
from fuzz_core.adapters.modes import Changed, Clock
from fuzz_core.adapters.tensorflow.compare import dtypes
from fuzz_core.adapters.tensorflow.keras_versions import in_doubles
from fuzz_core.ir.dtypes import DTYPES, widened
from fuzz_core.ir.errors import BuildError
from fuzz_core.ir.values import Invocation, Prim, Ref, Seq, Tensor, TestCase, Value

_WIDE = {name: widened(name) for name, dtype in DTYPES.items() if dtype.floating}


class Widened:
    """Tensors and dtypes as doubles. noise: largest relative change of an element, in its dtype's epsilons."""

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise

    def tensor(self, live: Any, described: Tensor) -> Any:
        """See `Change`."""
        wide = _WIDE.get(described.dtype)
        if wide is None or (wide == described.dtype and not self.noise):
            return live
        array = nudged(np.asarray(live).astype(wide), self.noise * DTYPES[described.dtype].epsilon)
        if described.container == "ndarray":
            return array
        made = tf.constant(array)
        return tf.Variable(made) if isinstance(live, tf.Variable) else made

    def instance(self, live: Any) -> Any:
        """See `Change`: what Keras makes follows its default precision, see `keras_versions.in_doubles`."""
        return live

    def ref(self, ref: Ref) -> Ref:
        """See `Change`."""
        if ref.kind == "dtype":
            return Ref("dtype", _WIDE.get(ref.name, ref.name))
        plain = ref.name.removeprefix("tf.")
        return Ref("name", f"tf.{_WIDE[plain]}") if ref.kind == "name" and plain in _WIDE else ref


class Doubled(Changed):
    """A call whose arguments are doubles: also dtypes by their names, lists of numbers and what inner calls return."""

    noise = 0.0

    def __init__(self, adapter: Adapter, clock: Clock) -> None:
        super().__init__(adapter, clock)
        makers = self.builder.makers
        prim, sequence = makers[Prim], makers[Seq]
        makers[Prim] = lambda value: prim(_wide_name(value))
        makers[Seq] = lambda value: _doubles(sequence(value)) if _are_numbers(value) else sequence(value)
        makers[Invocation] = lambda value: _as_doubles(self.builder.call(value))

    def change(self) -> Change:
        """See `Changed`."""
        return Widened(self.noise)

    def applies(self, test: TestCase) -> bool:
        """Always: tensors may also be written as lists."""
        return True

    def run(self, test: TestCase) -> Any:
        """See `Mode`."""
        with in_doubles():
            return self.builder.call(test.invocation)


def _wide_name(value: Prim) -> Prim:
    return Prim("str", _WIDE.get(str(value.value), value.value)) if value.type == "str" else value


def _are_numbers(value: Value) -> bool:
    """Whether a sequence is what TensorFlow takes for a tensor of floating-point numbers."""
    if isinstance(value, Seq):
        return value.kind != "set" and len(value.items) > 0 and all(map(_are_numbers, value.items))
    return isinstance(value, Prim) and value.type == "float"


def _doubles(numbers: Any) -> Any:
    """The numbers that they are in single precision."""
    try:
        return tf.constant(np.asarray(numbers, dtype="float32").astype(np.float64))
    except ValueError:
        return numbers


def _as_doubles(made: Any) -> Any:
    if isinstance(made, tf.Tensor) and made.dtype.name in _WIDE:
        return tf.cast(made, _WIDE[made.dtype.name])
    return made


class Precise(Doubled):
    """Double precision. Compared with the plain result in this alone: whether that is a number where this is one."""

    relation = "finite"

    def run(self, test: TestCase) -> Any:
        """See `Mode`. Raises BuildError where the result is no more precise than the plain one."""
        result = super().run(test)
        if any(_WIDE.get(name, name) != name for name in dtypes(result)):
            raise BuildError("the result is no double")
        return result


class Nudged(Precise):
    """Double precision on numbers that differ from the test case's by a few roundings: how much that changes.

    Compared with nothing by itself.
    """

    against = ""
    relation = ""
    noise = 4.0


class NudgedBack(Nudged):
    """As much off in the other direction: what a nudge leaves as it was, a tie for one, the opposite one changes."""

    noise = -4.0
