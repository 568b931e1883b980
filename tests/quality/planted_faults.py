"""The table of qualitylib's faults: one line per fault."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A function's one fault: the oracle that must find it, the kind of verdict, the mode, and the trigger."""

    api: str
    oracle: str
    kind: str
    mode: str
    trigger: str


PLANTED = (
    Fault("row_max", "crash", "crash", "cpu", "a dimension of 0: null pointer"),
    Fault("peek", "crash", "crash", "cpu", "an index beyond 2**31: memory that is not its own"),
    Fault("window", "crash", "crash", "cpu", "a step of 0: division by zero"),
    Fault("resize", "crash", "crash", "cpu", "a size beyond 2**31: a check aborts"),
    Fault("parse", "crash", "crash", "cpu", "an empty text: an exception of C++"),
    Fault("nest", "crash", "crash", "cpu", "a large depth: stack overflow"),
    Fault("release", "crash", "crash", "cpu", "a negative number: double free"),
    Fault("shared", "crash", "crash", "cpu", "a negative count: pages that are gone"),
    Fault("codes", "crash", "crash", "cpu", "booleans: an illegal instruction"),
    Fault("Tiles", "crash", "crash", "cpu", "a stride of 0 and a vector: null pointer"),
    Fault("search", "crash", "hang", "cpu", "an infinite value: no end"),
    Fault("outer", "crash", "internal-error", "cpu", "shapes that differ: an assertion"),
    Fault("convert", "crash", "internal-error", "cpu", "an empty name: SystemError"),
    Fault("running_sum", "differential", "wrong-result", "strided", "a matrix: order of memory"),
    Fault("first_row", "differential", "wrong-result", "strided", "any: elements that are not adjacent"),
    Fault("mirror", "differential", "wrong-result", "strided", "three dimensions: not reversed"),
    Fault("steps", "differential", "out-of-bounds", "redzone", "any: the element behind the last"),
    Fault("beyond", "differential", "out-of-bounds", "redzone", "an index that is too large"),
    Fault("before", "differential", "out-of-bounds", "redzone", "two dimensions: the element in front of the first"),
    Fault("negate", "differential", "wrong-result", "out", "two rows: the first alone is written"),
    Fault("product", "differential", "wrong-result", "out", "fractions: rounded to half precision"),
    Fault("reverse", "differential", "wrong-result", "inplace", "two elements: reads what it has written"),
    Fault("shift", "differential", "wrong-result", "inplace", "a negative number: loses its sign"),
    Fault("divide", "differential", "wrong-metadata", "meta", "integers: another dtype"),
    Fault("repeat", "differential", "wrong-metadata", "meta", "no times: another shape"),
    Fault("turned", "differential", "wrong-metadata", "meta", "a matrix: other strides"),
    Fault("total", "differential", "wrong-result", "vmap", "any: sums over all calls"),
    Fault("share", "differential", "wrong-result", "vmap", "any: of the sum over all calls"),
    Fault("pick", "differential", "wrong-result", "vmap", "any: a call instead of a row"),
    Fault("cube", "differential", "wrong-gradient", "grad-numerical", "any but 0: a wrong factor"),
    Fault("leaky", "differential", "wrong-gradient", "grad-numerical", "a negative element: factor left out"),
    Fault("squash", "differential", "wrong-gradient", "grad-numerical", "any but 0: another function's slope"),
    Fault("clamp", "differential", "wrong-result", "compiled", "crossed bounds: the other one counts"),
    Fault("multiple", "differential", "wrong-result", "compiled", "0 times and less"),
    Fault("pad", "differential", "inconsistent", "compiled", "no zeros: refused"),
    Fault("rotate", "differential", "inconsistent", "compiled", "a negative number: accepted"),
    Fault("fused", "crash", "crash", "compiled", "negative elements: null pointer"),
    Fault("gathered", "crash", "crash", "cuda", "no elements: a check aborts"),
    Fault("scanned", "crash", "internal-error", "threaded", "five elements: an assertion"),
    Fault("mean", "differential", "wrong-result", "threaded", "a size that four does not divide: a rest left out"),
    Fault("count_above", "differential", "wrong-result", "threaded", "five elements: one counts twice"),
    Fault("remainder", "differential", "wrong-result", "cuda", "signs that differ: another sign"),
    Fault("summed", "differential", "wrong-result", "cuda", "half precision and a negative element: sign lost"),
    Fault("kept", "differential", "wrong-result", "cuda", "NaN: another number"),
    Fault("softmax", "nonfinite", "nonfinite", "cpu-fp64", "an element beyond 88: overflow"),
    Fault("log_sum", "nonfinite", "nonfinite", "cpu-fp64", "an element beyond 88: overflow"),
    Fault("sigmoid", "nonfinite", "nonfinite", "cpu-fp64", "an element beyond 88: overflow"),
    Fault("hill", "nonfinite", "nonfinite", "cpu-fp64", "an element beyond 84: overflow"),
    Fault("geometric_mean", "nonfinite", "nonfinite", "cpu-fp64", "many large elements: overflow"),
    Fault("every", "bounds", "bounds", "documented", "a step that is not positive"),
    Fault("quantile", "bounds", "bounds", "documented", "a part outside of [0, 1]"),
    Fault("reduced", "bounds", "bounds", "documented", "a word that is not in the list"),
    Fault("trace", "bounds", "bounds", "documented", "more or fewer than two dimensions"),
    Fault("squares", "performance", "slow", "cuda", "half precision: sleeps"),
    Fault("energies", "performance", "slow", "cuda", "single precision: sleeps"),
    Fault("powers", "performance", "slow", "cuda", "nine elements in single precision: sleeps"),
    Fault("remember", "leak", "leak", "cpu", "any: keeps pages"),
    Fault("retain", "leak", "leak", "cpu", "a matrix: frees nothing"),
    Fault("trail", "leak", "leak", "cpu", "a positive number: unmaps nothing"),
)

SOUND = (
    "add",
    "concat",
    "decayed",
    "exponential",
    "matmul",
    "narrowed",
    "noise",
    "nonzero",
    "pairs",
    "place_of_largest",
    "relu",
    "reserve",
    "root",
    "sine",
    "sum_anyhow",
    "unwritten",
)
