"""TensorFlow's modes as text."""

from __future__ import annotations

from fuzz_core.adapters.dialect import BARE, Way
from fuzz_core.adapters.watching import last_use, twice
from fuzz_core.ir.dtypes import widened
from fuzz_core.ir.values import Tensor

# Sparse results are not compared otherwise, and neither are booleans and strings by tolerances.
CLOSE = (
    "case = tf.test.TestCase()\n"
    "for a, b in zip(*(tf.nest.flatten(r, True) for r in ({actual}, {expected}))):\n"
    "    exact = a.dtype in (tf.bool, tf.string)\n"
    "    (case.assertAllEqual if exact else case.assertAllCloseAccordingToType)(a, b)"
)


def close(actual: str, expected: str) -> str:
    """Statements that fail where two results differ beyond the default tolerances."""
    return CLOSE.replace("{actual}", actual).replace("{expected}", expected)


FINITE = (
    "for r in tf.nest.flatten({expected}, True):\n"
    "    assert not r.dtype.is_floating or tf.reduce_all(tf.math.is_finite(r)), {actual}"
)
GRADIENT = (
    "xs = {actual}\n"
    "at = [i for i, x in enumerate(xs) if x.dtype == tf.float64]\n"
    "g = lambda *d: f(*(d[at.index(i)] if i in at else x for i, x in enumerate(xs)))\n"
    "for a, b in zip(*tf.test.compute_gradient(g, [xs[i] for i in at], 1e-6)):\n"
    "    tf.test.TestCase().assertAllClose(a, b, 1e-3, 1e-5)"
)

BACKWARD = (
    "xs = {actual}\n"
    "at = [x for x in xs if tf.is_tensor(x) and x.dtype.is_floating]\n"
    "with tf.GradientTape() as tape:\n"
    "    tape.watch(at)\n"
    "    results = [r for r in tf.nest.flatten(f(*xs), True) if tf.is_tensor(r) and r.dtype.is_floating]\n"
    "tape.gradient(results, [*at, *tape.watched_variables()])"
)


def _wide(source: str, tensor: Tensor, seed: int) -> str:
    wide = widened(tensor.dtype)
    return source if wide == tensor.dtype else f"tf.cast({source}, tf.{wide})"


def _graph(more: str = "") -> Way:
    return Way(CLOSE, actual=f"tf.function(f, autograph=False{more})({{x}})", shared=True)


_PLAIN = "import tensorflow as tf"
_COMPILED = (
    "expected = model(*args, **kwargs)\nactual = tf.function(lambda: model(*args, **kwargs), autograph=False)()\n"
)
_TRAINED = (
    "weights = list(model.trainable_weights)\n"
    "with tf.GradientTape() as tape:\n"
    "    result = model(*args, **kwargs)\n"
    "missing = [w.name for w, slope in zip(weights, tape.gradient(result, weights)) if slope is None]\n"
    "assert not missing, missing\n"
)
_DOUBLES = "tf.keras.backend.set_floatx(sys.argv[1])\ntf.keras.mixed_precision.set_global_policy(sys.argv[1])"
_NOTING = """
gradient, ended = tf.GradientTape.gradient, tf.keras.callbacks.History.on_epoch_end

def noting(tape, target, *args, **kwargs):
    if tf.executing_eagerly() and tf.is_tensor(target) and target.shape.rank == 0:
        print("trained by", float(target))
    return gradient(tape, target, *args, **kwargs)

def ending(history, epoch, logs=None):
    if logs and "loss" in logs:
        print("trained by", logs["loss"])
    return ended(history, epoch, logs)

tf.GradientTape.gradient, tf.keras.callbacks.History.on_epoch_end = noting, ending
"""
PROGRAMS = {
    **BARE,
    "compiled": last_use(_PLAIN, "tf.keras.layers.Layer", _COMPILED + close("actual", "expected")),
    "training": last_use(_PLAIN, "tf.keras.layers.Layer", _TRAINED),
    "cpu-fp64": twice(_PLAIN, _DOUBLES, _NOTING),
}
WAYS: dict[str, Way] = {
    "cpu-fp64": Way(FINITE, _wide),
    "function": _graph(),
    "xla": _graph(", jit_compile=True"),
    "backward": Way(BACKWARD, actual="[{x}]"),
    "grad-numerical": Way(GRADIENT, _wide, "[{x}]"),
}
