"""TensorFlow as text: how values are spelled, how errors look, and its modes, without an import of TensorFlow."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from fuzz_core.adapters import literals
from fuzz_core.adapters.dialect import (
    BARE,
    REFERENCE,
    TOLD,
    TRUSTED,
    Dialect,
    ModeSpec,
    Way,
    derivative,
    doubles,
    told_inside,
)
from fuzz_core.adapters.program_checks import last_use, losses_in_doubles
from fuzz_core.adapters.tensorflow.profile import PROFILE
from fuzz_core.ir.dtypes import DTYPES, double_of
from fuzz_core.ir.values import Fill, Invocation, Ref, Tensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Sparse results are not compared otherwise, and neither are booleans and strings by tolerances.
COMPARED = (
    f"{TOLD}case = tf.test.TestCase()\n"
    "for a, b in zip(*(tf.nest.flatten(r, True) for r in (actual, expected))):\n"
    "    exact = a.dtype in (tf.bool, tf.string)\n"
    "    (case.assertAllEqual if exact else case.assertAllCloseAccordingToType)(a, b, msg=told)"
)
CLOSE = f"actual = {{actual}}\nexpected = {{expected}}\n{COMPARED}"
FINITE = (
    f"{TRUSTED}for r in tf.nest.flatten(actual, True):\n"
    "    assert not r.dtype.is_floating or tf.reduce_all(tf.math.is_finite(r)), told"
)
GRADIENT = (
    "xs = {actual}\n"
    "at = [i for i, x in enumerate(xs) if x.dtype == tf.float64]\n"
    "g = lambda *d: f(*(d[at.index(i)] if i in at else x for i, x in enumerate(xs)))\n"
    "for a, b in zip(*tf.test.compute_gradient(g, [xs[i] for i in at], 1e-6)):\n"
    '    print(told := f"expected {b}, got {a}")\n'
    "    tf.test.TestCase().assertAllClose(a, b, 1e-3, 1e-5, told)"
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
    wide = double_of(tensor.dtype)
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
    "compiled": last_use(_PLAIN, "tf.keras.layers.Layer", _COMPILED + COMPARED),
    "training": last_use(_PLAIN, "tf.keras.layers.Layer", _TRAINED, "wrong-gradient"),
    "cpu-fp64": losses_in_doubles(_PLAIN, _DOUBLES, _NOTING),
}
_MODES = "fuzz_core.adapters.tensorflow.modes:"
_TRACED = ModeSpec(
    f"{_MODES}Traced",
    _graph(),
    relation="behaviour",
    share=0.02,
    blind="function-known",
    dear=True,
    meaning="inside `tf.function`",
    phrases=("inside tf.function", "outside of tf.function"),
)
MODES: dict[str, ModeSpec] = {
    **doubles(f"{_MODES}Precise", Way(FINITE, _wide)),
    "function": _TRACED,
    "function-known": REFERENCE._replace(run=f"{_MODES}KnownElements", dear=True),
    # Minima and maxima lose NaN: TensorFlow turns XLA's option xla_cpu_enable_fast_min_max on.
    "xla": _TRACED._replace(
        run=f"{_MODES}Compiled",
        script=_graph(", jit_compile=True"),
        share=0.002,
        keeps_nan=False,
        meaning="compiled by XLA (`jit_compile=True`)",
        phrases=("compiled by XLA", "without XLA"),
    ),
    "backward": ModeSpec(f"{_MODES}Backward", Way(BACKWARD, actual="[{x}]"), relation="", share=0.03),
    "grad": REFERENCE._replace(run=f"{_MODES}Gradient"),
    "grad-numerical": derivative(f"{_MODES}Gradient", Way(GRADIENT, _wide, "[{x}]")),
}


_INFERRED = {"bool", "int32", "float32", "complex128", "string"}
_DRAWN = {"float16", "bfloat16", "float32", "float64", "int32", "int64"}

_OUT_OF_MEMORY = (
    r"ResourceExhausted|OOM when allocating|std::bad_alloc|CUDA_ERROR_OUT_OF_MEMORY|MemoryError|failed to alloc"
    r"|[Cc]annot allocate memory|Unable to allocate|Dst tensor is not initialized|[Rr]an out of memory"
    r"|Thread \w+ creation via pthread_create\(\) failed|ThreadPoolTempl<>::ThreadPoolTempl\(\)"
)
_ENVIRONMENT = r"libdevice|[Ff]ailed to (?:initialize|load)|DNN library|CUDA_ERROR|cuDNN|cuBLAS"
_INTERNAL = (
    r"\bInternalError: |SystemError: |UnboundLocalError: |report (?:a|this) bug|[Tt]his should never (?:happen|be)"
    r"|(?:RuntimeError|ValueError|IndexError|OverflowError|UnknownError): [^\n]*\bstd::(?!numeric_limits)|Check failed"
    r"|vector::_M_|basic_string::|basic_string_view::|bad[ _]optional[ _]access|bad[ _]variant[ _]access"
    r"|\b(?:unordered_)?map::at|_Map_base::at|[Uu]nknown (?:C\+\+ )?exception"
)


# Forms of a tensor, see `Dialect`.
FORMS = {
    "sparse": Invocation("tf.sparse.from_dense"),
    "ragged": Invocation("tf.RaggedTensor.from_tensor"),
    "variable": Invocation("tf.Variable"),
    "Keras variable": Invocation("tf.keras.Variable"),
}


class TensorFlowDialect(Dialect):
    """How TensorFlow is written and how it complains."""

    library = "tensorflow"
    forms = FORMS
    neighbours = True
    searched = True
    imports = ("import tensorflow as tf",)
    lacking = ("complex32",)
    modes = MODES
    programs = PROGRAMS
    identity = "tf.keras.layers.Identity"
    profile = PROFILE
    out_of_memory = re.compile(_OUT_OF_MEMORY)
    internal_error = told_inside(_INTERNAL, f"{_OUT_OF_MEMORY}|{_ENVIRONMENT}")
    poisons = re.compile(
        r"CUDA_ERROR_(?!(?:OUT_OF_MEMORY|INVALID_VALUE|NO_DEVICE|INVALID_DEVICE|DEVICE_UNAVAILABLE|STUB_LIBRARY)\b)"
        r"|illegal memory access|device-side assert"
    )
    # The functions that work out shapes end their errors so.
    static_check = re.compile(r" for '\{\{node [^\n]* with input shapes: ")
    native_modules = re.compile(r"(?:^|/)(?:lib\w*tensorflow\w*|_pywrap_\w+|_\w*tf\w*|\w+_ops)(?:\.[\w-]+)*\.so")

    def own(self, tensor: Tensor) -> str:
        """See `Dialect`; a variable of a bare literal takes that without `tf.constant`."""
        made = _constant(tensor)
        if tensor.container not in ("variable", "parameter"):
            return made
        bare = re.fullmatch(r"tf\.constant\((\[.*\]|-?[\w.]+)\)", made)
        return f"tf.Variable({bare.group(1) if bare else made})"

    def ref(self, ref: Ref) -> str:
        """Return `tf.float32`, `'cpu'` (TensorFlow names devices by strings), or the name as it is."""
        if ref.kind == "dtype":
            return dtype_name(ref.name)
        return repr(ref.name) if ref.kind == "device" else ref.name

    def seed(self, seed: int) -> str:
        """Return `tf.keras.utils.set_random_seed(0)`: Keras draws seeds of initialisers from Python's own stream."""
        return f"tf.keras.utils.set_random_seed({seed & 0x7FFFFFFF})"


def dtype_name(name: str) -> str:
    """Return `tf.float32`; 8-bit floats are experimental."""
    return f"tf.dtypes.experimental.{name}" if name.startswith("float8") else f"tf.{name}"


def _constant(tensor: Tensor) -> str:
    from fuzz_core.ir.elements import elements

    if tensor.dtype.startswith("float8"):
        return f"tf.cast({_constant(tensor._replace(dtype='float32'))}, {dtype_name(tensor.dtype)})"
    if tensor.dtype == "bfloat16" and literals.inlined(tensor) and _vanishes(elements(tensor)):
        bits = literals.nested(elements(tensor).view("uint32") >> 16, tensor.shape, "uint16")
        return f"tf.bitcast(tf.constant({bits}, tf.uint16), tf.bfloat16)"
    value = literals.common_element(tensor)
    if value == "-0.0":
        # A scalar of Python's is looked up among those seen before, and 0.0 is found for it.
        return f"-{_constant(tensor._replace(fill=Fill('constant', 0.0)))}"
    if value is not None and DTYPES[tensor.dtype].kind == "complex":
        parts = elements(tensor, 1)[0].real, elements(tensor, 1)[0].imag
        if any(part == 0 and math.copysign(1, part) < 0 for part in parts):
            single = tensor._replace(dtype="float32" if tensor.dtype == "complex64" else "float64")
            made = [_constant(single._replace(fill=Fill("constant", float(part)))) for part in parts]
            return f"tf.complex({', '.join(made)})"
    shape = list(tensor.shape)
    named = f"{shape}{'' if tensor.dtype == 'float32' else f', {dtype_name(tensor.dtype)}'}"
    full, fill = f"{{value}}{_dtype(tensor)}, {shape}", "constant"
    if tensor.dtype in _INFERRED:
        full, fill = f"{shape}, {{value}}", "fill"
    told = f"tf.constant({{elements}}{_dtype(tensor)})"
    made = literals.short_expressions(tensor, value, "tf", named, full, told, "zeros", fill)
    return min(made, key=len) if made else _draw(tensor)


def _vanishes(flat: NDArray[Any]) -> bool:
    """Return whether TensorFlow takes an element for zero: conversions flush numbers without a full mantissa."""
    return bool(((flat != 0) & (abs(flat) < DTYPES["float32"].normal)).any())


def _dtype(tensor: Tensor) -> str:
    return "" if tensor.dtype in _INFERRED else f", {dtype_name(tensor.dtype)}"


def _draw(tensor: Tensor) -> str:
    fill, kind = tensor.fill, DTYPES[tensor.dtype].kind
    if literals.has_special_elements(tensor):
        mask = f"tf.reshape(tf.range({tensor.size}), {list(tensor.shape)}) % 3 == 0"
        odd = literals.literal(fill.special if kind == "float" else complex(fill.special or 0.0))
        return f"tf.where({mask}, {odd}, {_constant(tensor._replace(fill=fill._replace(special=None)))})"
    if kind == "complex":
        part = tensor._replace(dtype="float32" if tensor.dtype == "complex64" else "float64")
        return f"tf.complex({_draw(part)}, {_draw(part)})"
    if kind == "string":
        return f"tf.strings.as_string({_draw(tensor._replace(dtype='int32', fill=fill._replace(low=0, high=99)))})"
    if tensor.dtype not in _DRAWN:
        low, high = map(float, literals.whole_range(tensor))
        wider = tensor._replace(dtype="int64", fill=fill._replace(low=low, high=high))
        return f"tf.cast({_uniform(wider)}, {dtype_name(tensor.dtype)})"
    return _uniform(tensor)


def _uniform(tensor: Tensor) -> str:
    """Return a uniform draw by an operation with a seed of its own, which is the same in every process."""
    shape, dtype = list(tensor.shape), dtype_name(tensor.dtype)
    if DTYPES[tensor.dtype].kind == "int":
        low, high = literals.whole_range(tensor)
        top = min(high + 1, 2 ** (DTYPES[tensor.dtype].bits - 1) - 1)
        return f"tf.random.uniform({shape}, {literals.literal(low)}, {literals.literal(top)}, {dtype}, seed=0)"
    low_text, high_text = literals.short_number(tensor.fill.low), literals.short_number(tensor.fill.high)
    ends = "" if (low_text, high_text) == ("0", "1") else f", {low_text}, {high_text}"
    return f"tf.random.uniform({shape}{ends}{'' if tensor.dtype == 'float32' else f', dtype={dtype}'}, seed=0)"
